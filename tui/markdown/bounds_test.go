package markdown

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yuin/goldmark/ast"
	gmtext "github.com/yuin/goldmark/text"

	"codeagent/tui/paint"
	"codeagent/tui/tuitest"
)

// slow are texts of about n bytes for which the parser alone takes the square of
// the time, or makes far more of them than they are.
func slow(n int) map[string]string {
	fill := func(s string) string { return strings.Repeat(s, n/len(s)) }
	out := map[string]string{
		"a wide table of empty rows": strings.Repeat("|a", n/8) + "|\n" + strings.Repeat("|-", n/8) + "|\n" + strings.Repeat("x\n", n/4),
		"a table with a long title":  "|" + strings.Repeat("h", n/2) + "|b|\n|-|-|\n" + strings.Repeat("|x|\n", n/8),
		"brackets in brackets":       strings.Repeat("[", n/2) + strings.Repeat("]", n/2),
		"emphasis in emphasis":       strings.Repeat("*a ", n/6) + strings.Repeat("b* ", n/6),
		"a long definition":          "[a]: " + strings.Repeat("u", n/2) + "\n\n" + strings.Repeat("- [a]\n", n/12),
	}
	for _, s := range []string{
		"[](", "[a](", "![](", "[", "[a](<b", "[a][b", "[](\n", "[a]: b\n", "[a]: b\n(c\n",
		"> ", ">", "1. ", "1) ", "+ ", "- > ", "> - 1. ", "*a_", "*_", "a***b_c", "~a", "`a``b```c",
		"<", "<a href='", "<!--", "a<?", "&", "\\",
	} {
		out[fmt.Sprintf("%q", s)] = fill(s)
	}
	return out
}

// Each of these takes up to minutes without the bounds, and some take more memory
// than there is; with them all together take less than a second.
func TestNoTextIsDrawnForMinutes(t *testing.T) {
	const size = 100 << 10
	th := paint.New(true)
	texts := slow(size)
	at := make(chan string, len(texts)+1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for name, s := range texts {
			at <- name
			drawn := 0
			for _, l := range markdown(th, s, 100, false, &listNumber{}) {
				drawn += len(l)
			}
			if drawn > 60*size {
				t.Errorf("%s: %d bytes are drawn as %d", name, len(s), drawn)
			}
		}
		at <- "streamed"
		var d Document
		for range size / 300 {
			d.Add(strings.Repeat("[](", 100))
			d.Lines(th, 100)
		}
	}()
	select {
	case <-done:
	case <-time.After(3 * time.Minute):
		name := ""
		for len(at) > 0 {
			name = <-at
		}
		t.Fatalf("%s is still being drawn", name)
	}
}

// What the parser makes of a text is not much more than the text.
func TestParsedTextIsBounded(t *testing.T) {
	const size = 8 << 10
	for name, s := range slow(size) {
		nodes, deepest := 0, 0
		depth := 0
		_ = ast.Walk(parsers().Parse(gmtext.NewReader([]byte(s))), func(_ ast.Node, enter bool) (ast.WalkStatus, error) {
			if !enter {
				depth--
				return ast.WalkContinue, nil
			}
			nodes++
			depth++
			deepest = max(deepest, depth)
			return ast.WalkContinue, nil
		})
		if nodes > 4*size || deepest > maxContainers+maxMarks+8 {
			t.Errorf("%s: %d bytes became %d nodes, %d deep", name, len(s), nodes, deepest)
		}
	}
}

// A long part that grows is not parsed anew for every piece of it, and in the end
// looks as if it had come at once.
func TestLongPartCostsItsLength(t *testing.T) {
	th := paint.New(true)
	src := strings.Repeat("- an item with **strong** words and `code` in it\n", 1200)
	whole := Document{Ended: true}
	once := testing.AllocsPerRun(1, func() {
		whole = Document{Ended: true}
		whole.Add(src)
		whole.Lines(th, 100)
	})
	var d Document
	streamed := testing.AllocsPerRun(1, func() {
		d = Document{}
		for piece := range slices.Chunk([]byte(src), 150) {
			d.Add(string(piece))
			d.Lines(th, 100)
		}
	})
	if streamed > 60*once {
		t.Errorf("drawn whole it takes %.0f allocations, streamed in 400 pieces %.0f", once, streamed)
	}
	d.Ended = true
	if got, want := tuitest.Stripped(d.Lines(th, 100)), tuitest.Stripped(whole.Lines(th, 100)); got != want {
		t.Error("what was streamed looks different in the end")
	}
}

// A block of code that grows is read once: streamed in pieces it costs little more than at
// once, and its colours are the same.
func TestCodeIsReadOnce(t *testing.T) {
	th := paint.New(true)
	src := "```go\n" + strings.Repeat("func f(x int) string { /* one\n\ttwo */ return `a\nb` + \"c\" }\n", 400)
	draw := func(n int) (d Document, allocs float64) {
		allocs = testing.AllocsPerRun(1, func() {
			d = Document{}
			for piece := range slices.Chunk([]byte(src), n) {
				d.Add(string(piece))
				d.Lines(th, 100)
			}
		})
		return d, allocs
	}
	whole, once := draw(len(src))
	pieces, streamed := draw(60)
	if streamed > 3*once {
		t.Errorf("drawn whole it takes %.0f allocations, streamed %.0f", once, streamed)
	}
	if !slices.Equal(whole.Lines(th, 100), pieces.Lines(th, 100)) {
		t.Error("what was streamed has other colours in the end")
	}
}

// An ordinary long answer is within every bound.
func TestLongAnswersAreDrawnAsMarkdown(t *testing.T) {
	d := Document{Ended: true}
	d.Add("| name | size | note |\n|------|-----:|---|\n" + strings.Repeat("| `a.go` | **12** | |\n", 2000) + "\n")
	d.Add(strings.Repeat("- an item with **strong** words, [a link](x) and `code`\n", 2000) + "\n")
	d.Add(strings.Repeat("Prose with *soft*, **strong** words and `code`.\n\n", 2000))
	d.Add("> one\n> > two\n> > > three\n> > > - four\n> > >   - five\n")
	if got := tuitest.Stripped(d.Lines(paint.New(true), 100)); strings.ContainsAny(got, "*`[>|") {
		at := strings.IndexAny(got, "*`[>|")
		t.Errorf("marks are shown at %d: %.200s", at, got[max(at-20, 0):])
	}
}
