package exec

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Of the cut part exactly the error-like lines are kept, however the output was split into
// pieces.
func TestMarksInAnyPieces(t *testing.T) {
	lines := []string{
		"ok  \tpkg\t0.01s", "main.go:3: Error: bad", "an ERROR", "--- FAIL: TestX", "it failed", "EACCES: permission denied", "mirror of rror",
		"Traceback (most recent call last):", "bash: x: command not found", "fatal: no repository", "panic: oops", "0 errors", "tests: 0 failed",
		"available", "", "a\tb", "undefined: x", "cannot find it", "No such file or directory", "ERRO", "raceb", strings.Repeat("x", 2000) + "error",
	}
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		var all []byte
		for range rnd.IntN(1500) {
			all = append(append(all, lines[rnd.IntN(len(lines))]...), '\n')
		}
		var k keeper
		for rest := all; len(rest) > 0; {
			n := min(len(rest), 1+rnd.IntN(1+rnd.IntN(40_000)))
			k.add(1, rest[:n])
			rest = rest[n:]
		}
		o := k.output()
		var middle []byte
		if o.Skipped > 0 {
			middle = all[len(o.Head) : len(all)-len(o.Tail)]
		}
		want := naiveMarks(middle)
		kept := 0
		for _, m := range o.Marks {
			kept += m.Times
		}
		if kept+o.MoreMarks != len(want) {
			t.Fatalf("seed %d: %d lines and %d more, want %d", seed, kept, o.MoreMarks, len(want))
		}
		grouped := group(want)
		if len(grouped) > 2*marksKept {
			grouped = append(grouped[:marksKept:marksKept], grouped[len(grouped)-marksKept:]...)
		}
		if !slices.Equal(o.Marks, grouped) {
			t.Fatalf("seed %d: kept\n%v\nwant\n%v", seed, o.Marks, grouped)
		}
	}
}

// naiveMarks examines each complete line.
func naiveMarks(middle []byte) []string {
	var out []string
	lines := bytes.SplitAfter(middle, []byte("\n"))
	for _, line := range lines {
		if !bytes.HasSuffix(line, []byte("\n")) {
			continue
		}
		text := bytes.TrimSpace(line[:min(len(line)-1, markBytes)])
		holds := func(word []byte) bool { return bytes.Contains(text, word) }
		well := func(word []byte) bool { return bytes.Contains(append([]byte(" "), text...), word) }
		if slices.ContainsFunc(errorWords, holds) && !slices.ContainsFunc(noErrorWords, well) {
			out = append(out, string(text))
		}
	}
	return out
}

func group(lines []string) []Mark {
	var out []Mark
	for _, l := range lines {
		if n := len(out); n > 0 && out[n-1].Text == l {
			out[n-1].Times++
			continue
		}
		out = append(out, Mark{l, 1})
	}
	return out
}

// The text says what was cut, and what of it looks like an error.
func TestMarksInTheText(t *testing.T) {
	var k keeper
	fill := bytes.Repeat([]byte("all is well\n"), 1000)
	k.add(1, fill)
	for i := range 50 {
		k.add(1, fmt.Appendf(nil, "x.go:%d: error: this one\n", i))
	}
	k.add(1, bytes.Repeat([]byte("the same failure\n"), 7))
	k.add(1, fill)
	text := k.output().Text()
	for _, want := range []string{
		"not kept …]\n[lines of it that look like errors, the first and the last of 57:]\nx.go:0: error: this one\n",
		"x.go:9: error: this one\nx.go:41: error: this one\n", "the same failure [7 times]\n[end of these lines]\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "x.go:10:") {
		t.Error("too many are shown")
	}
}

func BenchmarkMarks(b *testing.B) {
	for name, line := range map[string]string{
		"plain":  "ok  	codeagent/exec/some/package	0.004s for a test that went well and says so\n",
		"errors": "main.go:12: error: something is wrong here with number\n",
	} {
		b.Run(name, func(b *testing.B) {
			data := bytes.Repeat([]byte(line), 256<<10/len(line))
			b.SetBytes(int64(len(data)))
			var m marks
			for b.Loop() {
				m.scanned = 0
				m.add(data)
			}
		})
	}
}
