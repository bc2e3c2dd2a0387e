package tools

import (
	"strings"
	"unicode/utf8"

	"znkr.io/diff"
	"znkr.io/diff/textdiff"

	"codeagent/event"
	"codeagent/internal/webtext"
	"codeagent/patch"
	"codeagent/sandbox"
)

const (
	// maxDiff bounds a unified diff in bytes; a longer one is of no use on a screen.
	maxDiff = 256 << 10
	// maxDiffInput is the largest file that is compared line by line.
	maxDiffInput = 4 << 20
)

// Compare describes how the file at path changes from old to now; nil: it stays the same.
func Compare(path string, old, now []byte) event.FileChange {
	c := patch.Change{Path: path, Kind: patch.Update}
	if c.Old = (&patch.Content{Data: old}); old == nil {
		c.Old, c.Kind = nil, patch.Add
	}
	if c.New = (&patch.Content{Data: now}); now == nil {
		c.New, c.Kind = nil, patch.Delete
	}
	return changeOf(c, func(path string) string { return path })
}

// changeOf describes what a patch did to one file. display converts a path to the form
// shown to the person.
func changeOf(c patch.Change, display func(string) string) event.FileChange {
	out := event.FileChange{Path: display(c.Path), Kind: sandbox.ChangeKind(c.Kind)}
	if c.From != "" {
		out.From = display(c.From)
	}
	old, okOld := textOf(c.Old)
	now, okNow := textOf(c.New)
	if !okOld || !okNow {
		out.Diff = "(binary or very large: not shown)\n"
		return out
	}
	whole := len(old) <= maxDiff && len(now) <= maxDiff
	if whole && c.Old != nil {
		out.Before = &old
	}
	if whole && c.New != nil {
		out.After = &now
	}
	edits := textdiff.Edits(old, now)
	for _, e := range edits {
		switch e.Op {
		case diff.Insert:
			out.Added++
		case diff.Delete:
			out.Removed++
		}
	}
	if old == now {
		return out
	}
	body := textdiff.Unified(old, now, textdiff.IndentHeuristic())
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

// textOf returns the text of a file, "" if absent, and false if it cannot be compared by lines. Text
// in another encoding is decoded as in browsers.
func textOf(c *patch.Content) (text string, ok bool) {
	switch {
	case c == nil:
		return "", true
	case len(c.Data) > maxDiffInput:
		return "", false
	case patch.UTF16(c.Data), !utf8.Valid(c.Data):
		text = webtext.Decode(c.Data, "")
	default:
		text = string(c.Data)
	}
	return text, strings.IndexByte(text[:min(len(text), 8<<10)], 0) < 0
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
