package terminal

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"golang.org/x/sys/unix"
)

// glass is a terminal that is no file: what is written to it can be read from another goroutine.
type glass struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (g *glass) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.all.Write(p)
}

func (g *glass) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.all.String()
}

func open(t *testing.T) (*Terminal, *glass) {
	g := &glass{}
	on, err := Open(Options{In: strings.NewReader(""), Out: g, Environ: []string{"TERM=xterm-256color"}, Profile: colorprofile.TrueColor})
	if err != nil {
		t.Fatal(err)
	}
	return on, g
}

// TestFramesAreWhatIsShown draws random frames over one another, at changing sizes, and compares an
// emulator's screen with each.
func TestFramesAreWhatIsShown(t *testing.T) {
	seed := time.Now().UnixNano()
	r := rand.New(rand.NewSource(seed))
	words := []string{"a", "漢字", "é", "\x1b[1mbold\x1b[m", "\x1b[48;5;3m  \x1b[m", "👩‍👩‍👧", "──", " ", "x y"}
	c := newCanvas(Options{Environ: []string{"TERM=xterm-256color"}, Profile: colorprofile.TrueColor}, false)
	c.byGrapheme()
	w, h := 20, 6
	screen := vt.NewEmulator(w, h)
	for n := range 400 {
		if n%40 == 39 {
			w, h = 10+r.Intn(40), 2+r.Intn(12)
			screen.Resize(w, h)
		}
		var rows []string
		for range h {
			row := ""
			for range r.Intn(8) {
				if word := words[r.Intn(len(words))]; ansi.StringWidth(row+word) < w {
					row += word
				}
			}
			rows = append(rows, row)
		}
		_, _ = screen.Write([]byte(c.draw(Frame{View: tea.View{Content: strings.Join(rows, "\n")}, Width: w, Height: h})))
		compare(t, screen, rows, fmt.Sprintf("seed %d, frame %d", seed, n))
	}
}

// compare reports the first row of the emulator's screen that is not what was drawn.
func compare(t *testing.T, screen *vt.Emulator, rows []string, what string) {
	t.Helper()
	for y, row := range rows {
		got, tinted := "", false
		for x := range screen.Width() {
			if cell := screen.CellAt(x, y); cell != nil {
				got += cell.Content
				tinted = tinted || cell.Style.Bg != nil
			}
		}
		if want := ansi.Strip(row); strings.TrimRight(got, " ") != strings.TrimRight(want, " ") || tinted != strings.Contains(row, "\x1b[48;") {
			t.Fatalf("%s, row %d: shown %q, drawn %q", what, y, got, row)
		}
	}
}

// TestScrolledFrames: what grows scrolls above rows that stay, and rows that look the same before and
// after (empty ones, and tinted ones beside plain ones) are shown where they belong.
func TestScrolledFrames(t *testing.T) {
	seed := time.Now().UnixNano()
	r := rand.New(rand.NewSource(seed))
	c := newCanvas(Options{Environ: []string{"TERM=tmux-256color"}, Profile: colorprofile.TrueColor}, false)
	const w, h = 20, 14
	screen := vt.NewEmulator(w, h)
	all := make([]string, h)
	for n := range 400 {
		if all[len(all)-1] == "* working" { // what stood only for now
			all = all[:len(all)-1]
		}
		for range r.Intn(10) {
			all = append(all, []string{"", "", fmt.Sprint("line ", n, r.Intn(99)), "same", "\x1b[48;5;3m" + strings.Repeat(" ", w) + "\x1b[m", fmt.Sprint("漢字 é ", n)}[r.Intn(6)])
		}
		if r.Intn(2) == 0 {
			all = append(all, "* working")
		}
		end := len(all)
		if r.Intn(4) == 0 {
			end -= r.Intn(min(len(all)-h+1, 9))
		}
		rows := append(append([]string{}, all[end-h+2:end]...), "----", fmt.Sprint("> ", n/2))
		_, _ = screen.Write([]byte(c.draw(Frame{View: tea.View{Content: strings.Join(rows, "\n")}, Width: w, Height: h})))
		compare(t, screen, rows, fmt.Sprintf("seed %d, frame %d", seed, n))
	}
}

// TestScrollIsWritten: rows that move are not written again.
func TestScrollIsWritten(t *testing.T) {
	c := newCanvas(Options{Environ: []string{"TERM=xterm-256color"}, Profile: colorprofile.TrueColor}, false)
	var rows []string
	for n := range 60 {
		rows = append(rows, fmt.Sprintf("- item %d of a list, with some words", n))
	}
	draw := func(from int) string {
		return c.draw(Frame{View: tea.View{Content: strings.Join(append(slices.Clone(rows[from:from+30]), "", "> "), "\n")}, Width: 80, Height: 32})
	}
	draw(10)
	for _, from := range []int{11, 14, 12, 0, 7} {
		if got := draw(from); strings.Count(got, "list") > 12 || len(got) > 60*12 {
			t.Errorf("to %d: %d bytes: %q", from, len(got), got)
		}
	}
}

// TestOnlyChangesAreWritten: an equal frame writes nothing, and a letter only itself.
func TestOnlyChangesAreWritten(t *testing.T) {
	c := newCanvas(Options{Environ: []string{"TERM=xterm-256color"}, Profile: colorprofile.TrueColor}, false)
	frame := func(text string) Frame {
		return Frame{View: tea.View{Content: strings.Repeat("line of text\n", 20) + text}, Width: 80, Height: 24}
	}
	c.draw(frame("› he"))
	if again := c.draw(frame("› he")); again != "" {
		t.Errorf("an equal frame writes %q", again)
	}
	if one := c.draw(frame("› hel")); len(one) > 20 || !strings.HasSuffix(one, "l") {
		t.Errorf("a letter writes %q", one)
	}
}

// TestItIsGivenBack: everything that is set is taken back, in any state, and once.
func TestItIsGivenBack(t *testing.T) {
	on, g := open(t)
	on.Show(Frame{View: tea.View{
		Content: "hello", MouseMode: tea.MouseModeCellMotion, ReportFocus: true, WindowTitle: "job\x07\x1b]0;x",
		ProgressBar: tea.NewProgressBar(tea.ProgressBarIndeterminate, 0), Cursor: tea.NewCursor(1, 0),
	}, Width: 20, Height: 4})
	on.Close()
	on.Release()
	all := g.String()
	for _, pair := range [][2]string{
		{ansi.SetModeAltScreenSaveCursor, ansi.ResetModeAltScreenSaveCursor},
		{ansi.SetModeBracketedPaste, ansi.ResetModeBracketedPaste},
		{ansi.SetModeMouseButtonEvent, ansi.ResetModeMouseButtonEvent},
		{ansi.SetModeFocusEvent, ansi.ResetModeFocusEvent},
		{ansi.PushKittyKeyboard(1), ansi.PopKittyKeyboard(1)},
		{ansi.ResetModeTextCursorEnable, ansi.SetModeTextCursorEnable},
		{ansi.SetIndeterminateProgressBar, ansi.ResetProgressBar},
		{ansi.SetWindowTitle("job]0;x"), ansi.SetWindowTitle("")},
		{pushTitle, popTitle},
	} {
		on, off := strings.Index(all, pair[0]), strings.LastIndex(all, pair[1])
		if on < 0 || off < on || strings.LastIndex(all, pair[0]) > off || strings.Count(all, pair[1]) != 1 && pair[1] != ansi.SetModeTextCursorEnable {
			t.Errorf("%q is set at %d, taken back at %d (%d times): %q", pair[0], on, off, strings.Count(all, pair[1]), all)
		}
	}
	if !strings.Contains(all, "hello") {
		t.Errorf("the last frame is lost: %q", all)
	}
}

// TestReleasedIsQuiet: nothing is written while another program has the terminal, and afterwards the
// whole frame is.
func TestReleasedIsQuiet(t *testing.T) {
	on, g := open(t)
	defer on.Close()
	f := Frame{View: tea.View{Content: "first"}, Width: 20, Height: 4}
	on.Release()
	before := g.String()
	on.Show(f)
	on.Write("\a")
	on.Redraw()
	if now := g.String(); now != before {
		t.Errorf("written meanwhile: %q", now[len(before):])
	}
	if err := on.Take(); err != nil {
		t.Fatal(err)
	}
	on.Show(f)
	waitFor(t, g, "first")
}

// TestSynchronized: a terminal that can show a frame at once reads where it begins and ends.
func TestSynchronized(t *testing.T) {
	on, g := open(t)
	defer on.Close()
	on.Answered(tea.ModeReportMsg{Mode: ansi.ModeSynchronizedOutput, Value: ansi.ModeReset})
	on.Show(Frame{View: tea.View{Content: "hello"}, Width: 20, Height: 4})
	waitFor(t, g, ansi.ResetModeSynchronizedOutput)
	if _, rest, ok := strings.Cut(g.String(), ansi.SetModeSynchronizedOutput); !ok || !strings.Contains(rest, "hello") {
		t.Errorf("%q", g.String())
	}
}

func waitFor(t *testing.T, g *glass, text string) {
	t.Helper()
	for start := time.Now(); !strings.Contains(g.String(), text); time.Sleep(time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Fatalf("%q is not written: %q", text, g.String())
		}
	}
}

// TestPace: keys are drawn at once, and no stream is drawn more than 120 times a second.
func TestPace(t *testing.T) {
	var p pace
	now := time.Unix(1, 0)
	for i := range 4 { // a key, and what streams beside it
		if wait := p.next(now); wait > 0 {
			t.Errorf("frame %d waits %v", i, wait)
		}
		now = now.Add(5 * time.Millisecond)
	}
	start, drawn := now, 0
	for now.Sub(start) < 10*time.Second {
		now = now.Add(max(p.next(now), time.Millisecond))
		drawn++
	}
	if rate := fmt.Sprint(drawn / 10); drawn/10 > 121 || drawn/10 < 115 {
		t.Errorf("%s frames a second", rate)
	}
}

// TestPanicGivesTheTerminalBack: a frame that cannot be drawn ends the program, not the terminal.
func TestPanicGivesTheTerminalBack(t *testing.T) {
	on, g := open(t)
	defer on.Close()
	on.next.Store(&Frame{Width: -5, Height: -5, View: tea.View{Content: "x"}})
	said := func() (said any) {
		defer func() { said = recover() }()
		on.frame()
		return nil
	}()
	if said == nil {
		t.Fatal("the frame is drawn")
	}
	if out := g.String(); !strings.Contains(out, ansi.ResetModeAltScreenSaveCursor) {
		t.Errorf("written: %q", out)
	}
}

// TestAskedOnce: the terminal is asked at the start alone, and what it answered holds when it is taken
// again.
func TestAskedOnce(t *testing.T) {
	on, g := open(t)
	defer on.Close()
	on.Answered(tea.ModeReportMsg{Mode: ansi.ModeUnicodeCore, Value: ansi.ModeReset})
	for range 2 {
		on.Release()
		if err := on.Take(); err != nil {
			t.Fatal(err)
		}
	}
	all := g.String()
	if n := strings.Count(all, ansi.RequestBackgroundColor); n != 1 {
		t.Errorf("asked %d times: %q", n, all)
	}
	if n := strings.Count(all, ansi.SetModeUnicodeCore); n != 3 || on.canvas.cells.Method != ansi.GraphemeWidth {
		t.Errorf("mode 2027 is set %d times, want 3", n)
	}
}

// TestNothingTypedIsLost: a key that was read, but not taken, when the terminal is released comes after Take.
func TestNothingTypedIsLost(t *testing.T) {
	in, keys, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer keys.Close()
	on, err := Open(Options{In: in, Out: &glass{}, Environ: []string{"TERM=xterm-256color"}, Profile: colorprofile.TrueColor})
	if err != nil {
		t.Fatal(err)
	}
	came, taken := make(chan string), make(chan struct{})
	if err := on.Listen(func(m tea.Msg) {
		if k, ok := m.(uv.KeyPressEvent); ok {
			came <- k.String()
			<-taken
		}
	}, func(error) {}); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "b", "c", "d"} {
		if _, err := keys.WriteString(key); err != nil {
			t.Fatal(err)
		}
		if got := <-came; got != key {
			t.Fatalf("%q comes in place of %q", got, key)
		}
		next := string(key[0] + 1)
		if _, err := keys.WriteString(next); err != nil {
			t.Fatal(err)
		}
		for n := 1; n > 0; { // until it is read
			if n, err = unix.Poll([]unix.PollFd{{Fd: int32(in.Fd()), Events: unix.POLLIN}}, 0); err != nil && err != unix.EINTR {
				t.Fatal(err)
			}
		}
		on.Release()
		taken <- struct{}{}
		if err := on.Take(); err != nil {
			t.Fatal(err)
		}
		if got := <-came; got != next {
			t.Fatalf("%q comes in place of %q, which was typed before", got, next)
		}
		taken <- struct{}{}
	}
	on.Close()
}
