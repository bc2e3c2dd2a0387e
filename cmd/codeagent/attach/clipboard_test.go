package attach

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"image"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/workspace"
	sandboxexec "codeagent/exec"
	"codeagent/internal/machine"
	"codeagent/internal/picture"
	"codeagent/model"
)

// fakeDesktop is a folder with programs that stand for a desktop's.
type fakeDesktop struct {
	t   *testing.T
	dir string
}

// program makes a program from shell lines; $D is the folder of its files. Its arguments and
// what it could read are recorded.
func (d fakeDesktop) program(name, lines string) {
	d.t.Helper()
	cat, err := exec.LookPath("cat")
	if err != nil {
		d.t.Fatal(err)
	}
	script := "#!/bin/sh\nD='" + d.dir + "'\ncat='" + cat + "'\necho \"$*\" >>$D/called\n$cat >>$D/input\n" + lines + "\n"
	if err := machine.WriteProgram(filepath.Join(d.dir, name), []byte(script)); err != nil {
		d.t.Fatal(err)
	}
}

func (d fakeDesktop) file(name, text string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func newFakeDesktop(t *testing.T) fakeDesktop {
	d := fakeDesktop{t, t.TempDir()}
	var shot bytes.Buffer
	err := png.Encode(&shot, image.NewGray(image.Rect(0, 0, 40, 30)))
	if err == nil {
		err = os.WriteFile(filepath.Join(d.dir, "shot.png"), shot.Bytes(), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// read reads the clipboard as in a session with this environment.
func (d fakeDesktop) read(os string, blind bool, env ...string) (string, *model.Image, error) {
	return d.clipboard(os, blind, env...).Read(d.t.Context())
}

func (d fakeDesktop) clipboard(os string, blind bool, env ...string) Clipboard {
	ws := &workspace.Workspace{Files: sandboxexec.OS{}, Stdio: cli.Stdio{Environ: append(env, "PATH="+d.dir)}}
	sees := func() error {
		if blind {
			return errors.New("mole cannot see images: /model chooses one that can")
		}
		return nil
	}
	return Clipboard{ws, sees, os, time.Minute}
}

const (
	onWayland = "WAYLAND_DISPLAY=wayland-0"
	onX11     = "DISPLAY=:0"
	// wlGives prints the listed kinds, and $D/data for any of them.
	wlGives = `case "$1" in --list-types) $cat $D/kinds;; *) $cat $D/data;; esac`
)

// TestClipboardImage: each desktop's program is asked for the kinds of data, and for the best
// of them.
func TestClipboardImage(t *testing.T) {
	t.Parallel()
	d := newFakeDesktop(t)
	png, err := os.ReadFile(filepath.Join(d.dir, "shot.png"))
	if err != nil {
		t.Fatal(err)
	}
	d.file("apple", "«data PNGf"+strings.ToUpper(hex.EncodeToString(png))+"»\n")
	d.program("wl-paste", `case "$1" in --list-types) printf 'text/html\ntext/plain\nimage/png\nimage/jpeg\n';; *) $cat $D/shot.png;; esac`)
	d.program("xclip", `case "$4" in TARGETS) printf 'TIMESTAMP\nTARGETS\nimage/png\n';; *) $cat $D/shot.png;; esac`)
	d.program("osascript", `case "$2" in 'clipboard info') echo '«class PNGf», 87, TIFF picture, 4096, string, 4';; *) $cat $D/apple;; esac`)
	for _, c := range []struct {
		os     string
		env    []string
		called string
	}{
		{"linux", []string{onWayland, onX11}, "--list-types\n--no-newline --type image/png\n"},
		{"freebsd", []string{onX11}, "-selection clipboard -t TARGETS -o\n-selection clipboard -t image/png -o\n"},
		{"darwin", nil, "-e clipboard info\n-e the clipboard as «class PNGf»\n"},
	} {
		_ = os.Remove(filepath.Join(d.dir, "called"))
		text, image, err := d.read(c.os, false, c.env...)
		if err != nil || image == nil {
			t.Errorf("%s: %+v, %v", c.os, text, err)
			continue
		}
		if i := image; i.Name != "clipboard" || i.Width != 40 || i.Height != 30 || i.MediaType != "image/png" || i.Sum == "" || string(i.Data) != string(png) {
			t.Errorf("%s: %s %d×%d %s, %d bytes", c.os, i.Name, i.Width, i.Height, i.MediaType, len(i.Data))
		}
		if called, err := os.ReadFile(filepath.Join(d.dir, "called")); err != nil || string(called) != c.called {
			t.Errorf("%s: called with\n%s, %v", c.os, called, err)
		}
		if _, _, err := d.read(c.os, true, c.env...); err == nil || !strings.Contains(err.Error(), "mole cannot see images") {
			t.Errorf("%s: a model that sees nothing: %v", c.os, err)
		}
	}
	if input, err := os.ReadFile(filepath.Join(d.dir, "input")); err != nil || len(input) > 0 {
		t.Errorf("the programs read %q of codeagent's input, %v", input, err)
	}
}

// TestClipboardText: without an image the text is returned, for any model.
func TestClipboardText(t *testing.T) {
	t.Parallel()
	d := newFakeDesktop(t)
	d.program("wl-paste", wlGives)
	d.file("kinds", "text/html\nUTF8_STRING\ntext/plain;charset=utf-8\nSTRING\n")
	d.file("data", "zwei Zeilen: ä\n\xff\n")
	if text, image, err := d.read("linux", true, onWayland); err != nil || image != nil || text != "zwei Zeilen: ä\n\uFFFD\n" {
		t.Errorf("%+v, %v", text, err)
	}
	d.program("osascript", `case "$2" in
'clipboard info') $cat $D/kinds;;
*furl*) echo '/Users/ada/a b.png';;
*) echo 'a line';; esac`)
	for kinds, want := range map[string]string{
		"«class utf8», 4, «class ut16», 10, string, 4, Unicode text, 8\n": "a line",
		"«class furl», 30, «class icns», 70, TIFF picture, 90, string, 3": "/Users/ada/a b.png",
	} {
		d.file("kinds", kinds)
		if text, _, err := d.read("darwin", true); err != nil || text != want {
			t.Errorf("%s: %+v, %v", kinds, text, err)
		}
	}
}

// TestClipboardHostile: whatever the clipboard's owner offers becomes a one-line error, or
// text.
func TestClipboardHostile(t *testing.T) {
	t.Parallel()
	d := newFakeDesktop(t)
	d.program("wl-paste", wlGives)
	for _, c := range []struct{ kinds, data, want string }{
		{"image/png\n", "hello", "it is text; an image must be"},
		{"image/png\n", "\x89PNG\r\n\x1a\n\x00", "damaged"},
		{"image/png\n", "", "the file is empty"},
		{"image/bmp\nimage/svg+xml\n", "BM", "neither text nor a PNG"},
		{"image/png;$(touch $D/ran)\n--watch touch\nimage/png/../../x\n", "x", "neither text nor a PNG"},
		{"", "", "neither text nor a PNG"},
		{strings.Repeat("x", clipList) + "\nimage/png\n", "", "cannot be read: it is too large"},
	} {
		d.file("kinds", c.kinds)
		d.file("data", c.data)
		text, _, err := d.read("linux", false, onWayland)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%.40q with %q: %+v, %v", c.kinds, c.data, text, err)
		}
	}
	d.file("kinds", "image/png\n")
	if err := os.Truncate(filepath.Join(d.dir, "data"), picture.MaxFile+1); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.read("linux", false, onWayland); err == nil || !strings.Contains(err.Error(), "the image in the clipboard: it is too large") {
		t.Errorf("more than is taken: %v", err)
	}
	d.program("wl-paste", `printf 'No\nselection \033[2J%04000d' 1 >&2; exit 1`)
	if _, _, err := d.read("linux", false, onWayland); err == nil || !strings.Contains(err.Error(), "is empty, or cannot be read: wl-paste: exit status 1: No⏎selection ␛[2J") || len(err.Error()) > 400 {
		t.Errorf("what it complains about: %v", err)
	}
}

// TestClipboardThatHangs: a hanging program is ended with everything it started.
func TestClipboardThatHangs(t *testing.T) {
	t.Parallel()
	d := newFakeDesktop(t)
	held := filepath.Join(d.dir, "held")
	if err := syscall.Mkfifo(held, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(held, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	own, err := os.OpenFile(held, os.O_WRONLY, 0) // until the program has it open
	if err != nil {
		t.Fatal(err)
	}
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	d.program("xclip", "exec 9>$D/held\nprintf x >&9\n"+sleep+" 600 &\nwait")
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { // ends with leave
		_, _, err := d.clipboard("linux", false, onX11).Read(ctx)
		left <- err
	}()
	if err := f.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if n, err := f.Read(make([]byte, 1)); n != 1 {
		t.Errorf("the program does not run: %v", err)
	}
	leave()
	if err := <-left; err == nil {
		t.Error("something was read")
	}
	own.Close()
	if said, err := io.ReadAll(f); err != nil || len(said) > 0 {
		t.Errorf("what it started goes on: %q, %v", said, err)
	}
	c := d.clipboard("linux", false, onX11)
	c.most = time.Millisecond
	if _, _, err := c.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "xclip did not end within 1ms") {
		t.Errorf("%v", err)
	}
}

// A text goes to the desktop's program by its standard input; the child that such a program
// leaves behind is not waited for.
func TestTextIsWritten(t *testing.T) {
	for name, c := range map[string]struct{ os, env string }{
		"wl-copy": {"linux", "WAYLAND_DISPLAY=w"}, "xclip": {"linux", "DISPLAY=:0"}, "pbcopy": {"darwin", "HOME=/"},
		"tmux": {"linux", "TMUX=/tmp/tmux-0/default,1,0"},
	} {
		d := newFakeDesktop(t)
		d.program(name, "{ while [ ! -e $D/over ]; do :; done; } &")
		err := d.clipboard(c.os, false, c.env).Write(t.Context(), "a\tb\n漢")
		d.file("over", "")
		if got, readErr := os.ReadFile(filepath.Join(d.dir, "input")); err != nil || readErr != nil || string(got) != "a\tb\n漢" {
			t.Errorf("%s got %q: %v %v", name, got, err, readErr)
		}
	}
	d := newFakeDesktop(t)
	if err := d.clipboard("linux", false, "DISPLAY=:0").Write(t.Context(), "x"); err != nil {
		t.Errorf("without a program: %v", err)
	}
	d.program("xclip", "exit 3")
	if err := d.clipboard("linux", false, "DISPLAY=:0").Write(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "xclip") {
		t.Errorf("a program that fails: %v", err)
	}
}

// TestNoClipboard: if the clipboard cannot be read, a line says what to do.
func TestNoClipboard(t *testing.T) {
	t.Parallel()
	d := newFakeDesktop(t)
	for _, c := range []struct {
		os   string
		env  []string
		want string
	}{
		{"linux", nil, "no clipboard to read: no desktop session"},
		{"linux", []string{"SSH_CONNECTION=192.0.2.1 1 192.0.2.2 22"}, "over SSH the clipboard of your own machine cannot be read"},
		{"linux", []string{onWayland, "SSH_CONNECTION=x"}, "install wl-clipboard"},
		{"linux", []string{onWayland, onX11}, "install wl-clipboard"},
		{"freebsd", []string{onX11}, "install xclip"},
		{"darwin", nil, "osascript is not installed"},
	} {
		_, _, err := d.read(c.os, false, c.env...)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasSuffix(err.Error(), instead) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s %q: %v", c.os, c.env, err)
		}
	}
	// The X11 program is used if the Wayland one is missing.
	d.program("xclip", `case "$4" in TARGETS) echo STRING;; *) printf hello;; esac`)
	if text, _, err := d.read("linux", false, onWayland, onX11); err != nil || text != "hello" {
		t.Errorf("%+v, %v", text, err)
	}
}
