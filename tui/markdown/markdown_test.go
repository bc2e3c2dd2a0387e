package markdown

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"codeagent/internal/golden"
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
	if got := tuitest.Stripped(d.Lines(paint.New(true), 40)); got != "before\n\n  x = 1\n  y = *2*\n" {
		t.Errorf("got %q", got)
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, s := range append(tuitest.Nasty(), sample) {
		f.Add(s, 40)
	}
	f.Fuzz(func(t *testing.T, s string, w int) {
		var d Document
		d.Add(s)
		for _, l := range d.Lines(paint.New(true), 10+(w%100+100)%100) {
			tuitest.Harmless(t, l)
		}
	})
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
