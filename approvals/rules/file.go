package rules

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"codeagent/internal/short"
	"codeagent/sandbox/named"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// maxRules bounds the rules of one file.
const maxRules = 2000

// Error is a fault in a file of rules.
type Error struct {
	Place
	Problem string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Problem)
}

// file is what a rules.toml contains.
type file struct {
	Command []commandEntry `toml:"command"`
	Path    []pathEntry    `toml:"path"`
	Host    []hostEntry    `toml:"host"`
	Tool    []toolEntry    `toml:"tool"`
}

type commandEntry struct {
	Words    []any    `toml:"words"`
	Decision Decision `toml:"decision"`
	Reason   string   `toml:"reason"`
	Match    []string `toml:"match"`
	NotMatch []string `toml:"not_match"`
	Exact    bool     `toml:"exact"`
	Backend  string   `toml:"backend"`
	scope
}

type pathEntry struct {
	Paths  []string `toml:"paths"`
	Access Access   `toml:"access"`
	scope
}

type hostEntry struct {
	Hosts  []string `toml:"hosts"`
	Access Access   `toml:"access"`
	scope
}

type toolEntry struct {
	Tool      string   `toml:"tool"`
	Described string   `toml:"described"`
	Decision  Decision `toml:"decision"`
	Reason    string   `toml:"reason"`
	scope
}

// scope is where and how long a rule applies. Every entry may have these keys.
type scope struct {
	Project string `toml:"project"`
	Expires any    `toml:"expires"`
}

// Parse reads the file called name. home is what "~/" stands for. The error is an *Error, the
// first fault of the file.
func Parse(name string, data []byte, home string) ([]*Rule, error) {
	var f file
	err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&f)
	if err != nil {
		return nil, Undecoded(name, err)
	}
	if n := len(f.Command) + len(f.Path) + len(f.Host) + len(f.Tool); n > maxRules {
		return nil, &Error{Place{name, 1, 1}, fmt.Sprintf("%d rules; at most %d are allowed", n, maxRules)}
	}
	p := parser{name: name, home: home, at: positions(data)}
	for i, e := range f.Command {
		p.add(where{"command", i}, e.scope, func(r *Rule) { p.command(r, e) })
	}
	for i, e := range f.Path {
		p.add(where{"path", i}, e.scope, func(r *Rule) { p.path(r, e) })
	}
	for i, e := range f.Host {
		p.add(where{"host", i}, e.scope, func(r *Rule) { p.host(r, e) })
	}
	for i, e := range f.Tool {
		p.add(where{"tool", i}, e.scope, func(r *Rule) { p.tool(r, e) })
	}
	if p.fault != nil {
		return nil, p.fault
	}
	return p.rules, nil
}

// Undecoded describes a fault in the TOML file called name, with its position.
func Undecoded(name string, err error) *Error {
	var decode *toml.DecodeError
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) && len(strict.Errors) > 0 {
		line, column := strict.Errors[0].Position()
		return &Error{Place{name, line, column}, fmt.Sprintf("unknown key %s", strings.Join(strict.Errors[0].Key(), "."))}
	}
	at, problem := Place{name, 1, 1}, strings.TrimPrefix(err.Error(), "toml: ")
	if errors.As(err, &decode) {
		at.Line, at.Column = decode.Position()
	}
	if what, _, ok := strings.Cut(problem, " into "); ok { // the rest names Go types
		problem = strings.Replace(what, "cannot decode TOML", "this value cannot be of the type", 1)
	}
	return &Error{at, problem}
}

// where is an entry: the number i, counted from 0, of a kind.
type where struct {
	kind string
	i    int
}

// positions returns the position of each entry and of its keys; the entry itself has the key "".
// Definitions in another form than [[command]] are number -1 of their kind.
func positions(data []byte) map[where]map[string]unstable.Position {
	out := map[where]map[string]unstable.Position{}
	var p unstable.Parser
	p.Reset(data)
	count := map[string]int{}
	var now where
	for p.NextExpression() {
		n := p.Expression()
		keys := n.Key()
		if !keys.Next() {
			continue
		}
		key := keys.Node()
		at := p.Shape(key.Raw).Start
		switch n.Kind {
		case unstable.ArrayTable:
			now = where{string(key.Data), count[string(key.Data)]}
			count[now.kind]++
			out[now] = map[string]unstable.Position{"": at}
		case unstable.Table:
			now = where{string(key.Data), -1}
			out[now] = map[string]unstable.Position{"": at}
		case unstable.KeyValue:
			if now == (where{}) {
				out[where{string(key.Data), -1}] = map[string]unstable.Position{"": at}
			} else {
				out[now][string(key.Data)] = at
			}
		}
	}
	return out
}

// parser turns entries into rules; it stops at the first fault.
type parser struct {
	name, home string
	at         map[where]map[string]unstable.Position
	now        where
	rules      []*Rule
	fault      *Error
}

// fail reports a fault at a key of the entry.
func (p *parser) fail(key, format string, args ...any) {
	if p.fault == nil {
		p.fault = &Error{p.place(key), fmt.Sprintf(format, args...)}
	}
}

func (p *parser) place(key string) Place {
	at, ok := p.at[p.now][key]
	if !ok {
		at = p.at[p.now][""]
	}
	return Place{p.name, max(at.Line, 1), max(at.Column, 1)}
}

// add makes a rule of what all entries have, and lets fill add the rest.
func (p *parser) add(at where, in scope, fill func(*Rule)) {
	if p.fault != nil {
		return
	}
	if p.now = at; p.at[at] == nil {
		p.now.i = -1
		p.fail("", "each rule begins with a line [[%s]]", at.kind) // otherwise it could not be removed on its own
		return
	}
	r := &Rule{Place: p.place(""), Decision: Allow}
	switch t := in.Expires.(type) {
	case nil:
	case time.Time:
		r.Expires = t
	case toml.LocalDate:
		r.Expires = t.AsTime(time.Local).AddDate(0, 0, 1)
	default:
		p.fail("expires", "expires must be a date (2026-12-31) or a time with its zone")
	}
	if in.Project != "" {
		r.Project = p.absolute("project", in.Project)
	}
	fill(r)
	p.rules = append(p.rules, r)
}

func (p *parser) command(r *Rule, e commandEntry) {
	r.Decision, r.Reason, r.Exact, r.Backend = e.Decision, e.Reason, e.Exact, e.Backend
	if e.Exact && e.Decision != Allow {
		p.fail("exact", "only an allow can be exact: what asks or forbids also applies to what is added")
	}
	if e.Backend == "" {
		p.decided(e.Decision, e.Reason)
	} else if e.Decision != None || e.Reason != "" || e.Exact {
		p.fail("backend", "a rule chooses a backend, or it decides: write two rules")
	}
	for _, word := range e.Words {
		list, ok := word.([]any)
		if !ok {
			list = []any{word}
		}
		var alternatives []string
		for _, one := range list {
			text, ok := one.(string)
			if !ok || text == "" || strings.Contains(text, unknown) {
				p.fail("words", "words are texts, or lists of texts that stand for each other")
				return
			}
			alternatives = append(alternatives, text)
		}
		if len(alternatives) == 0 {
			p.fail("words", "a list of alternatives is empty")
			return
		}
		r.Words = append(r.Words, alternatives)
	}
	if len(r.Words) == 0 {
		p.fail("words", "a rule for commands needs words")
		return
	}
	if r.Decision == Allow {
		p.allowable(r)
	}
	p.examples(r, e)
}

// decided checks the decision of a rule that may ask and forbid.
func (p *parser) decided(d Decision, reason string) {
	switch {
	case !slices.Contains([]Decision{Allow, Ask, Forbid}, d):
		p.fail("decision", "decision is %q; it must be allow, ask or forbid", short.Head(string(d), 40))
	case d == Forbid && strings.TrimSpace(reason) == "":
		p.fail("decision", "a forbid needs a reason, which the model reads")
	}
}

// allowable refuses an allow that would say more than its words do.
func (p *parser) allowable(r *Rule) {
	for _, program := range r.Words[0] {
		if slices.Contains(shellBuiltins, program) {
			p.fail("words", "%q changes the shell for the commands after it, or runs its arguments: no rule can allow it", program)
		}
		if strings.Contains(program, "/") && !path.IsAbs(program) {
			p.fail("words", "%q depends on the folder that it is called in: name an absolute path", program)
		}
		if why := runner(program); why != "" && !r.names() {
			p.fail("words", "%s: add the words that say what (%q), or exact = true", why, append([]string{program}, "NAME"))
		}
	}
}

// names reports whether a rule for a program that runs its arguments says what is run. It does if
// one of its words is not an option, assignment or number, or if the rule is exact.
func (r *Rule) names() bool {
	return r.Exact && len(r.Words) > 1 || slices.ContainsFunc(r.Words[1:], func(alternatives []string) bool {
		return !slices.ContainsFunc(alternatives, func(word string) bool {
			return strings.Contains(word, "=") || strings.ContainsAny(word[:1], "-0123456789{")
		})
	})
}

// shellBuiltins are the builtins of bash that run what they are given, or change what a later
// command means (bash(1), SHELL BUILTIN COMMANDS).
var shellBuiltins = []string{
	".", "[", "alias", "bind", "builtin", "cd", "command", "compgen", "complete", "compopt", "coproc", "declare", "dirs", "enable", "eval", "exec", "export", "fc", "function",
	"getopts", "hash", "jobs", "let", "local", "mapfile", "popd", "printf", "pushd", "read", "readarray", "readonly", "set", "shopt", "source", "test", "time", "trap", "typeset", "umask",
	"unalias", "unset", "wait",
}

func (p *parser) path(r *Rule, e pathEntry) {
	r.Access = e.Access
	if e.Access != Read && e.Access != Write {
		p.fail("access", "access is %q; it must be read or write", short.Head(string(e.Access), 40))
	}
	if len(e.Paths) == 0 {
		p.fail("paths", "a rule for paths needs paths")
	}
	for _, raw := range e.Paths {
		r.Paths = append(r.Paths, p.absolute("paths", raw))
	}
}

// absolute returns the path that raw, an entry of the list key, names.
func (p *parser) absolute(key, raw string) string {
	full := raw
	if rest, ok := strings.CutPrefix(raw, "~/"); ok && p.home != "" {
		full = strings.TrimSuffix(p.home, "/") + "/" + rest
	}
	if !path.IsAbs(full) || path.Clean(full) != strings.TrimSuffix(full, "/") && full != "/" {
		p.fail(key, "%q must be an absolute path, or begin with ~/, without . and ..", short.Head(raw, 80))
	}
	return path.Clean(full)
}

func (p *parser) host(r *Rule, e hostEntry) {
	if len(e.Hosts) == 0 {
		p.fail("hosts", "a rule for hosts needs hosts")
	}
	if r.Access = e.Access; e.Access != "" && e.Access != Fetch {
		p.fail("access", "access is %q; for hosts it can only be fetch, or be left out", short.Head(string(e.Access), 40))
	}
	for _, raw := range e.Hosts {
		hosts, err := named.ParseAllowed(raw)
		if err != nil {
			p.fail("hosts", "%v", err)
		}
		r.Hosts = append(r.Hosts, hosts...)
	}
}

// examples reports the first example of the rule that does not hold. It is judged by the rule alone.
func (p *parser) examples(r *Rule, e commandEntry) {
	set := Join([]*Rule{r})
	for _, line := range e.Match {
		if j := set.Command(line); !r.applies(j) {
			p.fail("match", "the rule does not match %q%s", short.Head(line, 200), because(j))
		}
	}
	for _, line := range e.NotMatch {
		if r.applies(set.Command(line)) {
			p.fail("not_match", "the rule matches %q", short.Head(line, 200))
		}
	}
}

// applies reports whether the rule, alone, says what j is.
func (r *Rule) applies(j Judgement) bool {
	if r.Backend != "" {
		return j.Backend == r
	}
	return j.Decision == r.Decision
}

func because(j Judgement) string {
	if j.Opaque == "" {
		return ""
	}
	return ": " + j.Opaque
}
