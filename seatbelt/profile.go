// Package seatbelt confines commands on macOS: it turns a resolved.Policy into a profile for
// sandbox-exec(1) and runs commands under it. The profile is pure text and is tested on every
// system; only process.go starts programs, and only on a Mac. Start with profile.go.
package seatbelt

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
)

// Param is one parameter of a profile; sandbox-exec gets it as -D Name=Value.
type Param struct{ Name, Value string }

// maxPath is PATH_MAX on macOS, including the NUL.
const maxPath = 1024

// maxProfile bounds profile and parameters together, in bytes. It is far below ARG_MAX (1 MiB),
// which they share with the command and its environment.
const maxProfile = 256 << 10

// never are folders that other programs trust. A wider root excludes them, and they are refused as
// roots themselves (except by SharedTemp).
var never = []string{"/private/tmp", "/private/var/tmp", "/private/var/folders", "/private/etc"}

// Profile returns the text of the profile for p and its parameters. It is pure. Paths appear in the
// text only as parameters, or as patterns of letters, digits and wildcards (see fold), so that no
// name can change the meaning of the text. It is an error if something cannot be enforced exactly.
func Profile(p resolved.Policy) (string, []Param, error) {
	if p.Unconfined {
		return "", nil, errors.New("an unconfined policy has no profile")
	}
	if len(p.Programs) > 0 {
		return "", nil, errors.New("single programs cannot be allowed on macOS: remove sandbox.allowed_programs")
	}
	if p.Network.Mode == sandbox.NetworkAllow && len(p.Network.Hosts) > 0 {
		return "", nil, fmt.Errorf("single hosts (%s) cannot be opened on macOS, only the whole network", p.Network.Hosts[0])
	}
	b := &builder{}
	for _, step := range []func(resolved.Policy) error{b.reads, b.writes, b.pins, b.network} {
		if err := step(p); err != nil {
			return "", nil, err
		}
	}
	text := base + b.text.String()
	size := len(text)
	for _, param := range b.params {
		size += len(param.Name) + len(param.Value)
	}
	if size > maxProfile {
		return "", nil, fmt.Errorf("the profile would have %d bytes: the policy names too many paths", size)
	}
	return text, b.params, nil
}

type builder struct {
	text   strings.Builder
	params []Param
	// denied are the filters that exclude DenyRead and DenyGlobs from a read or write.
	denied []string
}

func (b *builder) line(format string, args ...any) { fmt.Fprintf(&b.text, format+"\n", args...) }

// param adds a parameter for a path and returns its reference. A path has one parameter for each
// letter with which it is used.
func (b *builder) param(letter, name string) (string, error) {
	name, err := exact(name)
	if err != nil {
		return "", err
	}
	n := 0
	for _, p := range b.params {
		if p.Name[:1] == letter {
			if p.Value == name {
				return ref(p.Name), nil
			}
			n++
		}
	}
	p := Param{letter + strconv.Itoa(n), name}
	b.params = append(b.params, p)
	return ref(p.Name), nil
}

func ref(name string) string { return `(param "` + name + `")` }

// exact returns the path that the kernel reports for name, or an error if that is unknown: /tmp,
// /var and /etc are links into /private.
func exact(name string) (string, error) {
	switch {
	case len(name) >= maxPath:
		return "", fmt.Errorf("path %.80q… has %d bytes: macOS takes at most %d", name, len(name), maxPath-1)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return "", fmt.Errorf("path %.80q has bytes that a profile cannot hold", name)
	}
	for _, link := range []string{"/tmp", "/var", "/etc"} {
		if sandbox.Covers(link, name) {
			return "/private" + name, nil
		}
	}
	return name, nil
}

// away returns filters that are true outside protected or denied paths: outside each path itself,
// and outside every spelling that a case-insensitive volume would treat as the same path.
func (b *builder) away(letter string, pattern func(name string) string, names ...string) (out []string, err error) {
	for _, name := range names {
		param, err := b.param(letter, name)
		if err != nil {
			return nil, err
		}
		name, _ = exact(name)
		out = append(out, "(require-not (subpath "+param+"))", `(require-not (regex #"^`+pattern(name)+`"))`)
	}
	return out, nil
}

// below is the pattern of a path and what lies below it.
func below(name string) string { return fold(name) + "(/|$)" }

// kept is below for a protected name. Its lock is protected too, and some file systems ignore dots
// and spaces at the end of a component (protect.Covers).
func kept(name string) string {
	return spelled(name) + "(" + fold(".lock") + ")?[. ]*(/|$)"
}

func spelled(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = fold(part)
	}
	return strings.Join(parts, "[. ]*/")
}

// reads allows reading everything or the roots, except denied paths.
func (b *builder) reads(p resolved.Policy) error {
	entries := slices.Clone(p.DenyRead)
	for _, glob := range p.DenyGlobs {
		b.denied = append(b.denied, `(require-not (regex #"^`+foldGlob(glob)+`(/|$)"))`)
		if path.IsAbs(glob) {
			entries = append(entries, glob) // a bracket may also be part of a file's literal name
		}
	}
	denied, err := b.away("D", below, entries...)
	if err != nil {
		return err
	}
	b.denied = append(b.denied, denied...)
	hidden, err := b.away("H", below, p.Protected.Hidden...) // codeagent's own records
	if err != nil {
		return err
	}
	b.line("\n; Reading.")
	if len(p.Read) == 0 {
		b.rule("allow file-read*", []string{`(subpath "/")`}, b.denied, hidden)
		// A codeagent that a command starts looks whether the folders of the records exist.
		return b.metadata("H", p.Protected.Hidden)
	}
	roots := sandbox.PathsOf(slices.Concat(p.Read, p.Roots))
	ancestors := []string{}
	for _, root := range roots {
		param, err := b.param("R", root)
		if err != nil {
			return err
		}
		b.rule("allow file-read*", []string{"(subpath " + param + ")"}, b.denied, hidden)
		root, _ = exact(root)
		for dir := path.Dir(root); dir != "/"; dir = path.Dir(dir) {
			ancestors = append(ancestors, dir)
		}
	}
	b.line("; Finding one's way to the roots: names and dates of the folders above them,")
	b.line("; and of the links that stand at the top of every macOS.")
	b.line(`(allow file-read* (literal "/"))`)
	b.line(`(allow file-read-metadata (literal "/tmp") (literal "/var") (literal "/etc"))`)
	slices.Sort(ancestors)
	return b.metadata("A", slices.Compact(ancestors))
}

// metadata allows checking that each path exists, and no more.
func (b *builder) metadata(letter string, names []string) error {
	for _, name := range names {
		param, err := b.param(letter, name)
		if err != nil {
			return err
		}
		b.rule("allow file-read-metadata", []string{"(literal " + param + ")"}, b.denied)
	}
	return nil
}

// rule writes one rule whose filters must all be true.
func (b *builder) rule(head string, filters ...[]string) {
	b.line("(%s\n  (require-all\n    %s))", head, strings.Join(slices.Concat(filters...), "\n    "))
}

// declared are the write roots that the policy names itself.
func declared(p resolved.Policy) []sandbox.Root {
	return slices.DeleteFunc(slices.Clone(p.Roots), temporary)
}

func temporary(r sandbox.Root) bool {
	return r.Origin == sandbox.FromTemp || r.Origin == sandbox.FromSharedTemp
}

// writes allows writing inside each root, except what is protected there. It writes one rule for
// each root. A path is writable if any of these rules allows it. That equals JudgeWrite's decision
// by the longest root: a longer root has fewer protected names above it, and none that a shorter
// one lacks.
func (b *builder) writes(p resolved.Policy) error {
	b.line("\n; Writing.")
	own, err := b.away("O", kept, p.Protected.Own...)
	if err != nil {
		return err
	}
	roots := slices.Clone(p.Roots)
	for _, root := range declared(p) { // who may change a protected file may make its lock
		if lock := root.Path + ".lock"; p.JudgeWrite(lock).Allowed {
			roots = append(roots, sandbox.Root{Path: lock, Optional: true})
		}
	}
	for _, root := range roots {
		param, err := b.param("W", root.Path)
		if err != nil {
			return err
		}
		name, _ := exact(root.Path)
		if !temporary(root) && slices.Contains(never, name) {
			return fmt.Errorf("%s is shared with every program and is never a root; tmp = \"shared\" opens the folders for temporary files", name)
		}
		filters := []string{"(subpath " + param + ")"}
		for _, shared := range never {
			if sandbox.Covers(name, shared) && name != shared {
				filters = append(filters, `(require-not (subpath "`+shared+`"))`)
			}
		}
		inside, err := b.protectedIn(p, name)
		if err != nil {
			return err
		}
		b.rule("allow file-write*", filters, inside, own, b.denied)
	}
	return nil
}

// protectedIn returns the filters for one root: the protected paths that do not cover the root
// itself (such a root was granted deliberately), and the protected names at any depth below it.
func (b *builder) protectedIn(p resolved.Policy, root string) ([]string, error) {
	var out []string
	for _, name := range p.Protected.Paths {
		where, err := exact(name)
		if err != nil {
			return nil, err
		}
		if !sandbox.Covers(root, where) || where == root {
			continue
		}
		filters, err := b.away("P", kept, name)
		if err != nil {
			return nil, err
		}
		out = append(out, filters...)
	}
	// A name may begin above the root, but ends below it: a granted ".envrc" is not protected from
	// itself.
	for _, name := range p.Protected.Names {
		prefix := "^" + strings.Repeat("/[^/]+", max(depth(root)-strings.Count(name, "/"), 0))
		out = append(out, `(require-not (regex #"`+prefix+`(/.*)?/`+kept(name)+`"))`)
	}
	return out, nil
}

// depth counts the components of a clean absolute path.
func depth(name string) int {
	if name == "/" {
		return 0
	}
	return strings.Count(name, "/")
}

// pins keeps the folders above protected and denied paths in place: if a parent were moved away,
// the path would mean another file. Moving unlinks the old name. The roots themselves are pinned
// too.
func (b *builder) pins(p resolved.Policy) error {
	roots := p.Roots
	if len(roots) == 0 {
		return nil
	}
	b.line("\n; Folders above protected paths stay where they are.")
	pinned := []string{}
	for _, root := range roots {
		name, err := exact(root.Path)
		if err != nil {
			return err
		}
		pinned = append(pinned, name)
	}
	literal := slices.Concat(p.Protected.Paths, p.Protected.Own, p.DenyRead, p.DenyGlobs)
	for _, name := range literal {
		if !path.IsAbs(name) {
			continue // a glob at any depth; see patternPins
		}
		name, err := exact(name)
		if err != nil {
			return err
		}
		for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
			if slices.ContainsFunc(pinned[:len(roots)], func(root string) bool { return sandbox.Covers(root, dir) }) {
				pinned = append(pinned, dir)
			}
		}
	}
	slices.Sort(pinned)
	for _, dir := range slices.Compact(pinned) {
		param, err := b.param("U", dir)
		if err != nil {
			return err
		}
		b.line(`(deny file-write-unlink (literal %s))`, param)
		b.line(`(deny file-write-unlink (regex #"^%s$"))`, fold(dir))
	}
	for _, pattern := range patternPins(p) {
		b.line(`(deny file-write-unlink (regex #"%s$"))`, pattern)
	}
	return nil
}

// patternPins returns patterns for the folders above names and globs of several components.
func patternPins(p resolved.Policy) []string {
	var out []string
	add := func(pattern string) {
		if !slices.Contains(out, pattern) {
			out = append(out, pattern)
		}
	}
	for _, name := range p.Protected.Names {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			add("/" + spelled(dir) + "[. ]*")
		}
	}
	for _, entry := range p.DenyGlobs {
		for dir := path.Dir(entry); dir != "." && dir != "/"; dir = path.Dir(dir) {
			// Every folder is above a "**". A match still matches wherever it moves.
			if path.Base(dir) != "**" {
				add("^" + foldGlob(dir))
			}
		}
	}
	return out
}

// network allows nothing, the granted sockets, or everything.
func (b *builder) network(p resolved.Policy) error {
	if len(p.Sockets) > 0 {
		b.line("\n; Sockets that were granted.")
	}
	for _, socket := range p.Sockets {
		param, err := b.param("S", socket)
		if err != nil {
			return err
		}
		b.line("(allow network-outbound (literal %s))", param)
	}
	if p.Network.Mode == sandbox.NetworkFull {
		b.text.WriteString(fullNetwork)
	}
	return nil
}

// terminalName matches the path of the far end of a pseudo-terminal on macOS. Such a path needs no
// escaping in a profile.
var terminalName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^/dev/ttys[0-9]+$`) })

// terminalRules open the terminal that codeagent created for a command: its path, and /dev/tty.
// They open no other terminal, and a command without its own has no /dev/tty.
func terminalRules(name string) (string, error) {
	if !terminalName().MatchString(name) {
		return "", fmt.Errorf("%q is not a terminal", name)
	}
	return fmt.Sprintf("(allow file-read* file-write-data file-ioctl\n  (require-all (vnode-type CHARACTER-DEVICE) (require-any (literal %q) (literal \"/dev/tty\"))))\n", name), nil
}
