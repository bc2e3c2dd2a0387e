package reader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/part"
)

// stage is a pager on a screen of 80 columns and 22 rows.
type stage struct {
	*Pager
	test *testing.T
}

func paging(t *testing.T, read File) stage {
	s := stage{&Pager{finder: finder{keys: keys.Standard()}, title: "make all", file: "out", read: read, goal: -1, at: -1}, t}
	s.screen()
	s.run(nil)
	return s
}

// run does what an intent wants, and reads what the pager then needs, as the screen does.
func (s stage) run(i part.Intent) {
	for ; i != nil; i = s.Load() {
		if work, ok := i.(part.Beside); ok {
			work(s.test.Context())()
		}
	}
	if i = s.Load(); i != nil {
		s.run(i)
	}
}

func (s stage) screen() string {
	lines, _, _ := s.View(paint.New(true), 80, 22)
	return ansi.Strip(strings.Join(lines, "\n"))
}

func (s stage) has(words ...string) {
	s.test.Helper()
	for _, w := range words {
		if got := s.screen(); !strings.Contains(got, w) {
			s.test.Errorf("no %q in\n%s", w, got)
		}
	}
}

func (s stage) find(text string) {
	s.Key(keys.Key{Code: '/', Text: "/"})
	s.field.Typed(text)
	i, _ := s.Key(keys.Key{Code: tea.KeyEnter})
	s.run(i)
}

func (s stage) scroll(by int) {
	s.Scroll(by)
	s.run(nil)
}

func ofText(text string) File {
	return func(_ context.Context, _ string, data []byte, at int64) (int, int64, error) {
		return copy(data, text[min(at, int64(len(text))):]), int64(len(text)), nil
	}
}

// TestPagerShowsTheWhole: the rows that paging down, up and random scrolling show are those of the whole file.
func TestPagerShowsTheWhole(t *testing.T) {
	for seed := range uint64(2) {
		random := rand.New(rand.NewPCG(seed, 27))
		var text bytes.Buffer
		for text.Len() < 2*window {
			line := make([]byte, random.IntN([]int{20, 200, 3000, 3 * mostUnit}[random.IntN(4)]))
			for i := range line {
				line[i] = "abc \x1b[31m\t\u00e4\xff\x00\r"[random.IntN(15)]
			}
			fmt.Fprintf(&text, "%s%s", line, []string{"\n", "\n", "\n\n", "\r\n", ""}[random.IntN(5)])
		}
		p := paging(t, ofText(text.String()))
		whole := &Pager{finder: p.finder, data: text.Bytes(), size: int64(text.Len()), t: p.t, w: p.w, room: p.room}
		var rows []string
		index := map[spot]int{}
		for at := int64(0); at < whole.end(); at = whole.next(at) {
			for i, l := range whole.rows(at, whole.next(at)) {
				index[spot{at, i}] = len(rows)
				rows = append(rows, l)
			}
		}
		at := 0
		for i := range 80 {
			by := 24 + random.IntN(700)
			switch {
			case i == 40:
				p.scroll(paint.Everything)
				at, by = len(rows), 0
			case i > 40:
				by = -by
			}
			p.scroll(by)
			p.screen()
			at = min(max(at+by, 0), len(rows)-p.room)
			if got, known := index[p.top]; !known || got != at {
				t.Fatalf("seed %d: at row %d of %d, want %d (%+v)", seed, got, len(rows), at, p.top)
			}
			if got := p.page(p.room); !slices.Equal(got, rows[at:at+p.room]) {
				t.Fatalf("seed %d: from row %d\n%q\nwant\n%q", seed, at, got, rows[at:at+p.room])
			}
		}
	}
}

// TestPagerOfALongFile: 200 MB are paged and searched in both directions in bounded memory.
func TestPagerOfALongFile(t *testing.T) {
	const size = 200 << 20
	file := filepath.Join(t.TempDir(), "out")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	for at, text := range map[int64]string{0: "the first line\n", size / 3: "\nNEEDLE one\n", piece*7 - 3: "\nneedle two\n", size - 19: "\n\x1b[2Jthe last line\n"} {
		if _, err := f.WriteAt([]byte(text), at); err != nil {
			t.Fatal(err)
		}
	}
	f.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p := paging(t, func(_ context.Context, _ string, data []byte, at int64) (int, int64, error) {
		f, err := os.Open(file)
		if err != nil {
			return 0, 0, errors.New("the output was removed")
		}
		defer f.Close()
		n, err := f.ReadAt(data, at)
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return n, size, err
	})
	p.has("── make all", "the first line")
	p.scroll(paint.Everything)
	p.has("the last line", "␛[2J")
	p.scroll(-paint.Everything)
	p.find("needle")
	p.has("needle two")
	for _, c := range []struct {
		key  keys.Key
		want string
	}{{keys.Key{Code: 'n', Text: "n"}, "NEEDLE one"}, {keys.Key{Code: 'n', Text: "n"}, "needle two"}, {keys.Key{Code: 'n', Text: "N", Mod: tea.ModShift}, "NEEDLE one"}} {
		i, _ := p.Key(c.key)
		p.run(i)
		p.has(c.want)
	}
	p.find("nowhere")
	p.has("not found: nowhere")
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
		t.Errorf("allocated %d MB in all", took>>20)
	}
	if len(p.data) > window {
		t.Errorf("holds %d bytes", len(p.data))
	}
	p.scroll(paint.Everything)
	if err := os.Truncate(file, 100<<10); err != nil {
		t.Fatal(err)
	}
	p.scroll(-10_000)
	p.scroll(10)
	p.scroll(paint.Everything)
	if p.screen(); p.top.at > 100<<10 {
		t.Errorf("of a file that was cut the page stands at %d", p.top.at)
	}
	p.scroll(-paint.Everything)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	p.data = nil // nothing of it is held
	p.run(nil)
	p.has("the output was removed")
}

// TestPagerMarksWhatWasFound: also in a row that has colours.
func TestPagerMarksWhatWasFound(t *testing.T) {
	text := strings.Repeat("row\n", 500) + "\x1b[32mgreen\x1b[0m Needle end\n" + strings.Repeat("row\n", 500)
	p := paging(t, ofText(text))
	p.find("needle")
	p.has("green Needle end", "found: needle")
	lines, _, _ := p.View(paint.New(true), 80, 20)
	if i := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(ansi.Strip(l), "Needle") }); i < 0 || !strings.Contains(lines[i], "\x1b[7mNeedle") {
		t.Errorf("not marked: %q", lines)
	}
}
