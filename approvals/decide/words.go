package decide

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"codeagent/internal/short"
	"codeagent/internal/visible"
	"codeagent/sandbox"
)

// Show formats a path for a sentence.
func Show(p string) string {
	if strings.ContainsAny(p, " '\"()") {
		return fmt.Sprintf("%q", p)
	}
	return p
}

// GrantWords describes what a grant allows.
func GrantWords(gr sandbox.Grant) string {
	var out []string
	list := func(verb string, things []string) {
		if len(things) > 0 {
			out = append(out, verb+" "+FirstOf(things, 100))
		}
	}
	list("write", gr.Write)
	list("read", gr.Read)
	list("reach", sandbox.HostsOf(gr.Hosts))
	list("use the socket", gr.Sockets)
	if gr.Unsandboxed {
		out = append(out, "leave the sandbox")
	}
	return strings.Join(out, ", ")
}

// FirstOf names the first of paths in at most the given number of letters, and counts the others.
func FirstOf(paths []string, most int) string {
	if len(paths) == 0 {
		return "files"
	}
	name := Show(short.Cut(paths[0], most))
	if more := len(paths) - 1; more > 0 {
		name += fmt.Sprintf(" and %d more", more)
	}
	return name
}

// PlainText refuses text that cannot be shown unchanged.
func PlainText(s string) *Refusal {
	switch {
	case s == "":
		return refuse("an empty path or host was asked for")
	case len(s) > MaxEntry:
		return refuse("a path or host of %d bytes was asked for; at most %d are possible", len(s), MaxEntry)
	case !utf8.ValidString(s):
		return refuse("%q is not valid UTF-8, and cannot be shown and granted exactly", s)
	}
	for _, r := range s {
		if visible.Name(r) != "" {
			return refuse("%q contains the control character %U, and cannot be shown and granted exactly", s, r)
		}
	}
	return nil
}
