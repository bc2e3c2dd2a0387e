package tools

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"znkr.io/diff"
	"znkr.io/diff/textdiff"

	"codeagent/event"
	"codeagent/patch"
	"codeagent/sandbox"
)

const (
	// maxDiff bounds a unified diff in bytes; a longer one is of no use on a screen.
	maxDiff = 256 << 10
	// maxDiffInput is the largest file that is compared line by line.
	maxDiffInput = 4 << 20
)

// changeOf describes what a patch did to one file. display converts a path to the form
// shown to the person.
func changeOf(c patch.Change, display func(string) string) event.FileChange {
	out := event.FileChange{Path: display(c.Path), Kind: sandbox.ChangeKind(c.Kind)}
	if c.From != "" {
		out.From = display(c.From)
	}
	var old, now []byte
	if c.Old != nil {
		old = c.Old.Data
	}
	if c.New != nil {
		now = c.New.Data
	}
	if !comparable(old) || !comparable(now) {
		out.Diff = "(binary or very large: not shown)\n"
		return out
	}
	if len(old) <= maxDiff && len(now) <= maxDiff {
		out.Before, out.After = textOf(c.Old), textOf(c.New)
	}
	edits := textdiff.Edits(string(old), string(now))
	for _, e := range edits {
		switch e.Op {
		case diff.Insert:
			out.Added++
		case diff.Delete:
			out.Removed++
		}
	}
	if bytes.Equal(old, now) {
		return out
	}
	body := textdiff.Unified(string(old), string(now), textdiff.IndentHeuristic())
	// The library gives an empty side line number 1; diff and git give it 0.
	if len(old) == 0 {
		body = strings.Replace(body, "@@ -1,0 ", "@@ -0,0 ", 1)
	}
	if len(now) == 0 {
		body = strings.Replace(body, " +1,0 @@", " +0,0 @@", 1)
	}
	out.Diff = header(c, out) + bounded(body)
	return out
}

// textOf returns the text of a file; nil if there is none.
func textOf(c *patch.Content) *string {
	if c == nil {
		return nil
	}
	text := string(c.Data)
	return &text
}

func comparable(data []byte) bool {
	return len(data) <= maxDiffInput && utf8.Valid(data) && bytes.IndexByte(data[:min(len(data), 8<<10)], 0) < 0
}

// header returns the two header lines that the diff library does not write.
func header(c patch.Change, out event.FileChange) string {
	from, to := "a/"+out.Path, "b/"+out.Path
	switch c.Kind {
	case patch.Add:
		from = "/dev/null"
	case patch.Delete:
		to = "/dev/null"
	case patch.Move:
		from = "a/" + out.From
	}
	return "--- " + from + "\n+++ " + to + "\n"
}

// bounded cuts a diff at the end of a line.
func bounded(d string) string {
	if len(d) <= maxDiff {
		return d
	}
	d = d[:maxDiff]
	return d[:strings.LastIndexByte(d, '\n')+1] + "(the rest of the diff is not shown)\n"
}
