package seatbelt

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// This file is a small model of how macOS evaluates a profile: the last rule that matches an
// operation decides. It supports the forms that our profiles use and fails on any other, so that
// none is ignored.

// form is an atom (no children) or a list.
type form struct {
	atom  string
	kind  byte // 'a' atom, 's' string, 'r' regular expression, 'l' list
	items []form
}

func (f form) head() string {
	if f.kind == 'l' && len(f.items) > 0 {
		return f.items[0].atom
	}
	return ""
}

// parseForms parses S-expressions with ; comments, "strings" and #"patterns".
func parseForms(text string) ([]form, error) {
	p := &parser{text: text}
	var out []form
	for p.skip(); p.at < len(p.text); p.skip() {
		f, err := p.form()
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

type parser struct {
	text string
	at   int
}

func (p *parser) skip() {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == ';':
			for p.at < len(p.text) && p.text[p.at] != '\n' {
				p.at++
			}
		case c == ' ' || c == '\n' || c == '\t':
			p.at++
		default:
			return
		}
	}
}

func (p *parser) form() (form, error) {
	if p.skip(); p.at >= len(p.text) {
		return form{}, fmt.Errorf("text ends inside a form")
	}
	switch c := p.text[p.at]; {
	case c == '(':
		f := form{kind: 'l'}
		for p.at++; ; {
			if p.skip(); p.at < len(p.text) && p.text[p.at] == ')' {
				p.at++
				return f, nil
			}
			item, err := p.form()
			if err != nil {
				return f, err
			}
			f.items = append(f.items, item)
		}
	case c == ')':
		return form{}, fmt.Errorf("a ) too many at byte %d", p.at)
	case c == '"':
		return p.quoted('s')
	case strings.HasPrefix(p.text[p.at:], `#"`):
		p.at++
		return p.quoted('r')
	}
	start := p.at
	for p.at < len(p.text) && !strings.ContainsRune("() \n\t;\"", rune(p.text[p.at])) {
		p.at++
	}
	return form{kind: 'a', atom: p.text[start:p.at]}, nil
}

// quoted parses a string with backslash escapes, or a pattern without any.
func (p *parser) quoted(kind byte) (form, error) {
	var b strings.Builder
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			return form{kind: kind, atom: b.String()}, nil
		case c == '\\' && kind == 's' && p.at+1 < len(p.text):
			p.at++
			b.WriteByte(p.text[p.at])
		default:
			b.WriteByte(c)
		}
	}
	return form{}, fmt.Errorf("text ends inside a string")
}

// query is one operation that a program attempts.
type query struct {
	op, path string
	// device: the path is a character device. extension: the sandbox itself opened this terminal.
	// name is a service or sysctl. same: the target is a process in the same sandbox.
	device, extension, same bool
	name                    string
}

// profile is a parsed profile with its parameters.
type profile struct {
	t      testing.TB
	rules  []form
	params map[string]string
	regexp map[string]*regexp.Regexp
	found  map[[2]string]bool // what an expression says of a path
}

func parseProfile(t testing.TB, text string, params []Param) *profile {
	t.Helper()
	forms, err := parseForms(text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	p := &profile{t: t, params: map[string]string{}, regexp: map[string]*regexp.Regexp{}, found: map[[2]string]bool{}}
	for _, param := range params {
		p.params[param.Name] = param.Value
	}
	for i, f := range forms {
		switch f.head() {
		case "version":
			if i != 0 {
				t.Errorf("version is at place %d", i)
			}
		case "allow", "deny":
			p.rules = append(p.rules, f)
		default:
			t.Fatalf("unknown form %q", f.head())
		}
	}
	return p
}

// allows reports what the profile decides: the last matching rule.
func (p *profile) allows(q query) bool {
	decision, decided := false, false
	for _, rule := range p.rules {
		ops, filters := split(rule)
		matched := false
		for _, op := range ops {
			matched = matched || op == "default" || op == q.op || strings.HasSuffix(op, "*") && strings.HasPrefix(q.op, strings.TrimSuffix(op, "*"))
		}
		if !matched || len(filters) > 0 && !p.any(filters, q) {
			continue
		}
		decision, decided = rule.head() == "allow", true
	}
	if !decided {
		p.t.Fatalf("no rule decides %+v: the profile has no default", q)
	}
	return decision
}

// split separates the operations of a rule from its filters.
func split(rule form) (ops []string, filters []form) {
	for _, item := range rule.items[1:] {
		if item.kind == 'a' {
			ops = append(ops, item.atom)
		} else {
			filters = append(filters, item)
		}
	}
	return ops, filters
}

func (p *profile) any(filters []form, q query) bool {
	for _, f := range filters {
		if p.matches(f, q) {
			return true
		}
	}
	return false
}

func (p *profile) matches(f form, q query) bool {
	args := f.items[1:]
	switch f.head() {
	case "require-any":
		return p.any(args, q)
	case "require-all":
		for _, a := range args {
			if !p.matches(a, q) {
				return false
			}
		}
		return true
	case "require-not":
		return len(args) == 1 && !p.matches(args[0], q)
	case "literal":
		return q.path == p.value(args[0])
	case "subpath":
		root := p.value(args[0])
		return root == "/" || q.path == root || strings.HasPrefix(q.path, root+"/")
	case "regex":
		if args[0].kind != 'r' {
			p.t.Fatalf("regex of %+v", args[0])
		}
		re := p.regexp[args[0].atom]
		if re == nil {
			// (?s): the kernel treats a newline like any other byte.
			re = regexp.MustCompile("(?s)" + args[0].atom)
			p.regexp[args[0].atom] = re
		}
		key := [2]string{args[0].atom, q.path}
		found, known := p.found[key]
		if !known {
			found = re.MatchString(q.path)
			p.found[key] = found
		}
		return found
	case "vnode-type":
		return args[0].atom == "CHARACTER-DEVICE" && q.device
	case "extension":
		return q.extension
	case "target":
		return args[0].atom == "same-sandbox" && q.same
	case "global-name", "sysctl-name":
		return q.name == p.value(args[0])
	case "sysctl-name-prefix":
		return q.name != "" && strings.HasPrefix(q.name, p.value(args[0]))
	}
	p.t.Fatalf("the evaluator does not know the filter %q", f.head())
	return false
}

func (p *profile) value(f form) string {
	if f.head() == "param" {
		v, ok := p.params[f.items[1].atom]
		if !ok {
			p.t.Fatalf("parameter %q is not given", f.items[1].atom)
		}
		return v
	}
	if f.kind != 's' {
		p.t.Fatalf("%+v is not a text", f)
	}
	return f.atom
}

// TestEvaluator tests the model itself on profiles whose meaning is clear.
func TestEvaluator(t *testing.T) {
	text := `(version 1) ; a comment (allow default)
(deny default)
(allow file-read*)
(deny file-read-data (literal "/a\"b") (subpath (param "D")))
(allow file-write* (require-all (subpath "/w") (require-not (regex #"^/w/[gG](/|$)"))))
(deny file-write-unlink (literal "/w"))
(allow signal (target same-sandbox))`
	p := parseProfile(t, text, []Param{{"D", "/d"}})
	for _, c := range []struct {
		q    query
		want bool
	}{
		{query{op: "file-read-data", path: "/x"}, true},
		{query{op: "file-read-data", path: `/a"b`}, false},
		{query{op: "file-read-data", path: "/d/x"}, false},
		{query{op: "file-read-data", path: "/dx"}, true},
		{query{op: "file-read-metadata", path: "/d/x"}, true},
		{query{op: "file-write-data", path: "/w/x"}, true},
		{query{op: "file-write-data", path: "/w/G/x"}, false},
		{query{op: "file-write-data", path: "/w/Gx"}, true},
		{query{op: "file-write-data", path: "/wx"}, false},
		{query{op: "file-write-unlink", path: "/w"}, false},
		{query{op: "file-write-unlink", path: "/w/x"}, true},
		{query{op: "signal", same: true}, true},
		{query{op: "signal"}, false},
		{query{op: "mach-lookup", name: "x"}, false},
	} {
		if got := p.allows(c.q); got != c.want {
			t.Errorf("%+v: %v", c.q, got)
		}
	}
	for _, bad := range []string{"(version 1", `(allow "x)`, ")", "(a))"} {
		if f, err := parseForms(bad); err == nil {
			t.Errorf("%q is read as %+v", bad, f)
		}
	}
}
