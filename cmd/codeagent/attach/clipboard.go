package attach

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"codeagent/cmd/codeagent/workspace"
	"codeagent/hostfile"
	"codeagent/internal/picture"
	"codeagent/internal/visible"
	"codeagent/model"
)

const (
	// clipTime bounds the run of a clipboard program, which asks the program that copied; the
	// person waits meanwhile.
	clipTime = 2 * time.Second
	// clipList bounds the bytes read of a list of kinds.
	clipList = 16 << 10
)

// instead ends the error about a clipboard that cannot be read.
const instead = "paste the image's path, or start codeagent with -i FILE"

// Clipboard reads and writes the desktop's clipboard with the desktop's own programs, run unconfined
// and only when the person presses the key. The content comes from whichever program copied
// last, perhaps a web page: an image is decoded by package picture, anything else is text.
type Clipboard struct {
	ws   *workspace.Workspace
	sees func() error  // why the current model sees no images; nil if it does
	os   string        // GOOS
	most time.Duration // time limit of each program
}

// NewClipboard returns the clipboard of this desktop. sees returns why the current model sees
// no images, nil if it does.
func NewClipboard(ws *workspace.Workspace, sees func() error) Clipboard {
	return Clipboard{ws, sees, runtime.GOOS, clipTime}
}

// Read reads the clipboard: an image, else text.
func (c Clipboard) Read(ctx context.Context) (string, *model.Image, error) {
	p, path, err := c.program()
	if err != nil {
		return "", nil, err
	}
	run := func(most int, args []string) ([]byte, error) { return c.run(ctx, path, most, args) }
	list, err := run(clipList, p.list)
	if err != nil {
		return "", nil, fmt.Errorf("the clipboard is empty, or cannot be read: %w", err)
	}
	kind, ok := p.best(string(list))
	switch {
	case !ok:
		return "", nil, fmt.Errorf("the clipboard holds neither text nor a %s image", picture.Formats)
	case kind.image:
		var img model.Image
		if err = c.sees(); err == nil {
			img, err = p.image(ctx, run, kind)
		}
		if err != nil {
			return "", nil, fmt.Errorf("the image in the clipboard: %w", err)
		}
		return "", &img, nil
	}
	text, err := run(picture.MaxFile, kind.args)
	if err != nil {
		return "", nil, fmt.Errorf("the text in the clipboard: %w", err)
	}
	return p.text(text), nil, nil
}

// Write replaces the content of the clipboard by a text, by a program of this desktop. It does
// nothing without one.
func (c Clipboard) Write(ctx context.Context, text string) error {
	name, path, args := c.writer()
	if path == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.most)
	defer cancel()
	cmd, err := c.ws.Ground().Command(ctx, c.ws.Stdio.Environ, path, args...)
	if err != nil {
		return err
	}
	// No output is read: the program leaves a child behind that serves the text, and would
	// hold the pipe.
	cmd.Stdin = strings.NewReader(text)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// writer is the program that takes a text for the clipboard; path is "" without one.
func (c Clipboard) writer() (name, path string, args []string) {
	s := c.ws.Stdio
	switch {
	case c.os == "darwin":
		name = "pbcopy"
	case s.Env("WAYLAND_DISPLAY") != "":
		name = "wl-copy"
	case s.Env("DISPLAY") != "":
		name, args = "xclip", []string{"-selection", "clipboard", "-i"}
	case s.Env("TMUX") != "": // as it comes, tmux drops what programs send to the terminal's clipboard
		name, args = "tmux", []string{"load-buffer", "-w", "-"}
	default:
		return "", "", nil
	}
	return name, c.ws.Program(name), args
}

// program returns the clipboard program for this desktop, and its path. Without one the
// error says what to do.
func (c Clipboard) program() (*clipProgram, string, error) {
	s := c.ws.Stdio
	var able []*clipProgram
	if c.os == "darwin" {
		able = append(able, &osascript)
	} else {
		if s.Env("WAYLAND_DISPLAY") != "" {
			able = append(able, &wlPaste)
		}
		if s.Env("DISPLAY") != "" { // X11, or Xwayland, which has the same clipboard
			able = append(able, &xclip)
		}
	}
	for _, p := range able {
		if path := c.ws.Program(p.name); path != "" {
			return p, path, nil
		}
	}
	switch {
	case len(able) > 0:
		return nil, "", fmt.Errorf("the clipboard cannot be read: %s is not installed, or lies where commands may write: %s, or %s", able[0].name, able[0].install, instead)
	case s.Env("SSH_CONNECTION") != "":
		return nil, "", errors.New("over SSH the clipboard of your own machine cannot be read: copy the image here and " + instead)
	}
	return nil, "", errors.New("no clipboard to read: no desktop session (neither WAYLAND_DISPLAY nor DISPLAY is set): " + instead)
}

// run runs a program without a shell and without input, bounded in time and output. It
// returns at most most bytes of its output.
func (c Clipboard) run(ctx context.Context, path string, most int, args []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.most)
	defer cancel()
	cmd, err := c.ws.Ground().Command(ctx, c.ws.Stdio.Environ, path, args...)
	if err != nil {
		return nil, err
	}
	// End the whole process group: a child could keep the pipe open.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	name := filepath.Base(path)
	out, err := hostfile.Output(cmd, name, most)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, fmt.Errorf("%s did not end within %s", visible.Line(name), c.most)
	}
	return out, cmp.Or(ctx.Err(), err)
}

// best returns the first of p's kinds that list contains.
func (p *clipProgram) best(list string) (clipKind, bool) {
	listed := strings.FieldsFunc(list, func(r rune) bool { return r == '\n' || r == ',' || r == '{' || r == '}' })
	for i := range listed {
		listed[i] = strings.TrimSpace(listed[i])
	}
	i := slices.IndexFunc(p.kinds, func(k clipKind) bool { return slices.Contains(listed, k.name) })
	if i < 0 {
		return clipKind{}, false
	}
	return p.kinds[i], true
}

func (p *clipProgram) image(ctx context.Context, run func(int, []string) ([]byte, error), kind clipKind) (model.Image, error) {
	most := picture.MaxFile
	if p.apple {
		most = 2*picture.MaxFile + len("«data PNGf»\n")
	}
	data, err := run(most, kind.args)
	if err == nil && p.apple {
		data, err = appleData(data)
	}
	if err != nil {
		return model.Image{}, err
	}
	return picture.Read(ctx, "clipboard", data)
}

func (p *clipProgram) text(printed []byte) string {
	text := strings.ToValidUTF8(string(printed), "\uFFFD")
	if p.apple {
		text = strings.TrimSuffix(text, "\n")
	}
	return text
}

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
		return nil, errors.New("osascript did not print an image")
	}
	return hex.DecodeString(digits)
}
