package attach

import (
	"encoding/hex"
	"errors"
	"strings"
)

// clipProgram is a program that reads a desktop's clipboard: it lists the available kinds of
// data, and prints one of them. Nothing that it prints becomes an argument.
type clipProgram struct {
	name, install string
	list          []string
	kinds         []clipKind // the best first
	// apple: data is printed in AppleScript's form, and text gets an additional line end.
	apple bool
}

// clipKind is a kind of data and its name in the list.
type clipKind struct {
	name  string
	image bool
	args  []string // arguments to print it
}

var (
	wlPaste = clipProgram{
		name: "wl-paste", install: "install wl-clipboard",
		list:  []string{"--list-types"},
		kinds: freedesktop(func(kind string) []string { return []string{"--no-newline", "--type", kind} }),
	}
	xclip = clipProgram{
		name: "xclip", install: "install xclip",
		list:  []string{"-selection", "clipboard", "-t", "TARGETS", "-o"},
		kinds: freedesktop(func(kind string) []string { return []string{"-selection", "clipboard", "-t", kind, "-o"} }),
	}
	// osascript is part of macOS. A copied file may come with its icon; its path is what
	// counts, and the screen treats it as an image if it is one.
	osascript = clipProgram{
		name: "osascript", install: "it belongs to macOS", apple: true,
		list: []string{"-e", "clipboard info"},
		kinds: []clipKind{
			{"«class furl»", false, []string{"-e", "POSIX path of (the clipboard as «class furl»)"}},
			{"«class PNGf»", true, []string{"-e", "the clipboard as «class PNGf»"}},
			{"TIFF picture", true, []string{"-e", "the clipboard as «class PNGf»"}},
			{"Unicode text", false, []string{"-e", "the clipboard as Unicode text"}},
			{"string", false, []string{"-e", "the clipboard as Unicode text"}},
		},
	}
)

// freedesktop returns the kinds of Wayland and X11.
func freedesktop(args func(kind string) []string) []clipKind {
	var kinds []clipKind
	for _, name := range []string{"image/png", "image/jpeg", "image/webp", "image/gif", "text/plain;charset=utf-8", "UTF8_STRING", "text/plain", "STRING"} {
		kinds = append(kinds, clipKind{name, strings.HasPrefix(name, "image/"), args(name)})
	}
	return kinds
}

// appleData decodes «data PNGf89504E47…».
func appleData(printed []byte) ([]byte, error) {
	rest, begins := strings.CutPrefix(strings.TrimSpace(string(printed)), "«data PNGf")
	digits, ends := strings.CutSuffix(rest, "»")
	if !begins || !ends {
		return nil, errors.New("osascript prints something else than an image")
	}
	return hex.DecodeString(digits)
}
