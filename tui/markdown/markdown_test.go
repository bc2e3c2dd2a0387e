package markdown

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"github.com/charmbracelet/x/ansi"

	"codeagent/internal/golden"
	"codeagent/tui/mark"
	"codeagent/tui/paint"
	"codeagent/tui/tuitest"
)

const sample = "# Title with `code`\n\nA paragraph with **strong**, *soft*, ~~gone~~ and `inline code`,\nbroken softly.\nAn escaped \\*star\\* &amp; an entity.\n\n## Lists\n\n- one\n- two\n  continued\n  - nested\n  - [x] ticked\n  - [ ] open\n\n3. three\n4. four\n\n- loose\n\n- items\n\n> quoted text\n> > twice\n\n```go\nfunc main() {\n\tfmt.Println(\"hi\")\n\n}\n```\n\n    indented code\n\n---\n\nA [link](https://example.org/x), [same](same), <https://auto.example>, ![picture](a.png).\n\n| name | size |\n|------|-----:|\n| a.go | 12 |\n| `b`  | 3 **bold** |\n\n<div>html</div>\n\nLast words.\n"

func TestMarkdown(t *testing.T) {
	for _, w := range []int{24, 76} {
		var d Document
		d.Add(sample)
		golden.Check(t, fmt.Sprintf("markdown-%d.txt", w), tuitest.Stripped(d.Lines(paint.New(true), w)))
	}
}

// However an answer was cut into pieces, in the end it looks the same, and no
// line that stood complete before its part ended moves.
func TestStreamedLooksLikeWhole(t *testing.T) {
	th := paint.New(true)
	var whole Document
	whole.Add(sample)
	want := tuitest.Stripped(whole.Lines(th, 60))
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var d Document
		for rest := sample; rest != ""; {
			n := min(1+rng.IntN(40), len(rest))
			d.Add(rest[:n])
			rest = rest[n:]
			if rng.IntN(3) > 0 {
				d.Lines(th, 60)
			}
		}
		if got := tuitest.Stripped(d.Lines(th, 60)); got != want {
			t.Fatalf("streamed:\n%s\nwhole:\n%s", got, want)
		}
	}
}

func TestDocumentReflowsAndChangesTheme(t *testing.T) {
	var d Document
	d.Add(sample)
	dark := paint.New(true)
	wide := tuitest.Stripped(d.Lines(dark, 80))
	d.Lines(dark, 30)
	d.Lines(paint.New(false), 80)
	if got := tuitest.Stripped(d.Lines(dark, 80)); got != wide {
		t.Error("a document looks different after it was drawn narrow and wide again")
	}
}

func TestDocumentSetReplacesDifferentText(t *testing.T) {
	var d Document
	d.Add("strea")
	d.Set("another text")
	if got := tuitest.Stripped(d.Lines(paint.New(true), 40)); got != "another text\n" {
		t.Errorf("got %q", got)
	}
}

func TestOpenFenceShowsCode(t *testing.T) {
	var d Document
	d.Add("before\n```py\nx = 1\ny = *2*")
	if got := tuitest.Stripped(d.Lines(paint.New(true), 40)); got != "before\n\n── py ──────────────────────────────────\n  x = 1\n  y = *2*\n" {
		t.Errorf("got %q", got)
	}
}

func TestFenceEndsTheAnswer(t *testing.T) {
	for _, end := range []string{"```", "```\n", "  ````"} {
		d := Document{Ended: true}
		d.Add("```py\nx = 1\n" + end)
		want := Document{Ended: true}
		want.Add("```py\nx = 1\n```\n")
		if got, want := tuitest.Stripped(d.Lines(paint.New(true), 40)), tuitest.Stripped(want.Lines(paint.New(true), 40)); got != want {
			t.Errorf("%q is drawn as %q", end, got)
		}
		if got := d.Code(); len(got) != 1 || got[0] != "x = 1\n" {
			t.Errorf("%q: code %q", end, got)
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, s := range append(tuitest.Nasty(), sample) {
		f.Add(s, 40)
	}
	f.Fuzz(func(t *testing.T, s string, w int) { checkDrawn(t, s, 10+(w%100+100)%100) })
}

// checkDrawn holds for every text: only styles and text are drawn, in the given width,
// and a streamed text looks like a whole one.
func checkDrawn(t *testing.T, s string, w int) {
	th := paint.New(true)
	d := Document{Ended: true}
	d.Add(s)
	whole := d.Lines(th, w)
	for _, l := range whole {
		tuitest.Harmless(t, l)
		if n := ansi.StringWidth(l); n > w {
			t.Errorf("a line is %d wide in %d: %q", n, w, l)
		}
	}
	var pieces Document
	step := max(7, len(s)/40)
	for i := 0; i < len(s); i += step {
		pieces.Add(s[i:min(i+step, len(s))])
		pieces.Lines(th, w)
	}
	pieces.Ended = true
	if got, want := strings.Join(pieces.Lines(th, w), "\n"), strings.Join(whole, "\n"); got != want {
		t.Errorf("streamed %q is drawn as\n%q\nwhole as\n%q", s, got, want)
	}
}

func TestNastyTextIsDrawn(t *testing.T) {
	for i, s := range append(tuitest.Nasty(), sample, wide) {
		checkDrawn(t, s, 10+i*5)
		checkDrawn(t, "```go\n"+s, 10+i*5)
		checkDrawn(t, "| a | b |\n|---|---|\n| "+s+" | x |\n", 10+i*5)
		checkDrawn(t, "- [ ] "+s+"\n  - "+s, 10+i*5)
	}
}

// wide has what is cut or wrapped on a narrow screen.
const wide = "| option | what it does | default |\n|---|---|--:|\n| `--retries` | How often a failed request is sent again before the turn fails | 5 |\n| `--timeout` | Seconds, for one request | 120 |\n\n" +
	"1. one\n9. nine\n2. [x] two\n1. a\n1. b\n1. c\n1. d\n1. e\n1. f\n1. ten\n   - [ ] inner\n     - deepest of all\n\n" +
	"```python title=x\ndef f(x):\n\treturn \"a string that does not fit in a narrow line\"  # why\n```\n\n" +
	"A line of prose that is longer than a hundred columns is broken before it becomes hard to read, whatever the screen's width is.\n"

func TestWideThings(t *testing.T) {
	for _, w := range []int{36, 77, 140} {
		d := Document{Ended: true}
		d.Add(wide)
		golden.Check(t, fmt.Sprintf("wide-%d.txt", w), tuitest.Stripped(d.Lines(paint.New(true), w)))
	}
}

// What is copied is what was written, at every width.
func TestCopyOfADocument(t *testing.T) {
	const src = "Some prose that wraps at a narrow width, and  two spaces.\n\n```go\nfunc f() {\n\treturn\n\n\t// " + "a comment that is too long for the screen" + "\n}\n```\n\n- one item of several words\n- [x] done\n\n> a quote of many words in it\n"
	const want = "Some prose that wraps at a narrow width, and  two spaces.\n\nfunc f() {\n\treturn\n\n\t// a comment that is too long for the screen\n}\n\n- one item of several words\n- [x] done\n\n> a quote of many words in it"
	for _, w := range []int{12, 20, 33, 80} {
		d := Document{Ended: true}
		d.Add(src)
		var c mark.CopyBuffer
		for _, l := range d.Lines(paint.New(true), w) {
			c.Add(l, 0, 1<<16)
		}
		if got := c.String(); got != want {
			t.Errorf("at %d columns:\n%q\nwant\n%q", w, got, want)
		}
	}
}

// A list that is cut into parts is one list, whose numbers count on as in any markdown.
func TestListsCountOn(t *testing.T) {
	for src, want := range map[string]string{
		"1. a\n\n1. b\n\n1. c\n":           "1. a\n\n2. b\n\n3. c\n",
		"3. a\n\n   more\n\n9. b\n":        "3. a\n\n   more\n\n4. b\n",
		"1. a\n\ntext\n\n1. b\n":           "1. a\n\ntext\n\n1. b\n",
		"1. a\n\n1) b\n":                   "1. a\n\n1. b\n",
		"1. a\n\n- b\n\n1. c\n":            "1. a\n\n• b\n\n1. c\n",
		"1. a\n   1. x\n\n   1. y\n\n1. b": "1. a\n\n   1. x\n\n   2. y\n\n2. b\n",
	} {
		var d Document
		for i := range len(src) {
			d.Add(src[i : i+1])
			d.Lines(paint.New(true), 40)
		}
		if got := tuitest.Stripped(d.Lines(paint.New(true), 40)); got != want {
			t.Errorf("%q is drawn as\n%swant\n%s", src, got, want)
		}
	}
}

func TestCodeOfADocument(t *testing.T) {
	var d Document
	d.Add("```go\nx\n```\n\n- item\n\n  ```\n  inner\n  ```\n\n~~~\nlast")
	if got := strings.Join(d.Code(), "|"); got != "x\n|inner\n|last" {
		t.Errorf("got %q", got)
	}
}

// A frame of a growing answer costs what its last part costs.
func BenchmarkStream1MB(b *testing.B) {
	th := paint.New(true)
	for b.Loop() {
		var d Document
		for range 1000 {
			d.Add(sample)
			d.Lines(th, 100)
		}
		b.SetBytes(int64(1000 * len(sample)))
	}
}

// TestLineEndsAndOneCopy: "\r\n" is a line's end wherever the pieces are cut, and a document
// keeps the string that it was set to, not a copy.
func TestLineEndsAndOneCopy(t *testing.T) {
	const written, want = "a\r\n\r\n```go\r\nx := 1\r\n```\r\nb\r", "a\n\n```go\nx := 1\n```\nb\r"
	for cut := range len(written) {
		var d Document
		d.Add(written[:cut])
		d.Add(written[cut:])
		if d.Text() != want || strings.Join(d.Code(), "|") != "x := 1\n" {
			t.Errorf("cut at %d: %q with the code %q", cut, d.Text(), d.Code())
		}
		d.Set(written)
		if d.Set(want); d.Text() != want {
			t.Errorf("cut at %d, set: %q", cut, d.Text())
		}
	}
	whole := strings.Repeat("one line\n\n", 3)
	var d Document
	d.Add(whole[:4])
	d.Add(whole[4:])
	d.Set(whole)
	if unsafe.StringData(d.Text()) != unsafe.StringData(whole) {
		t.Error("the text is in memory twice")
	}
	d.Add("more")
	if d.Text() != whole+"more" {
		t.Errorf("after more: %q", d.Text())
	}
}
