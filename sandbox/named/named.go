// Package named says which files and hosts a text names: a command line, a script, or what a model
// wrote. Others use it to decide whether a refusal is worth a question, and whether a command that
// passed lost something. It permits nothing and performs no IO. Start at Read.
package named

import (
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"codeagent/sandbox"

	"mvdan.cc/sh/v3/syntax"
)

const (
	// MaxText limits the bytes read of a text.
	MaxText = 64 << 10
	// maxParsed limits the bytes parsed as shell, because the parser's time grows faster than the
	// text.
	maxParsed = 4 << 10
	// maxNames limits the paths of one text, and maxValues the values of one word.
	maxNames, maxValues = 4096, 32
	// maxFolders limits the working directories in which a word of one text can be evaluated. maxSteps
	// limits the parts of all resolved paths.
	maxFolders, maxSteps = 8, 4096
	// maxPath is the longest path that Linux accepts. maxWide limits the bytes of the values of one
	// word, and maxWords those of all words.
	maxPath, maxWide, maxWords = 4096, 8 << 10, 256 << 10
)

// Text is the set of names in a text.
type Text struct {
	home, folder string
	paths        map[string]bool
	// made are the paths whose files the text empties or creates by a redirection.
	made map[string]bool
	// last contains the last part of each word.
	last map[string]bool
	// patterns are the paths with unknown parts. A hole replaces each unknown part.
	patterns map[string]bool
	lower    string
	resolve  func(string) string
	// resolved are the resolved paths, and steps is the number of their parts.
	resolved map[string]bool
	steps    int
}

// hole replaces a part of a word that only the shell knows.
const hole = "\x00"

// Read returns what text names if it is run in folder by the user with the home folder home.
// resolve follows the links of a path. Nil: paths are not resolved.
func Read(text, folder, home string, resolve func(path string) string) *Text {
	if len(text) > MaxText {
		text = text[:MaxText]
	}
	t := &Text{
		home: home, folder: folder, lower: strings.ToLower(text), resolve: resolve,
		paths: map[string]bool{}, made: map[string]bool{}, last: map[string]bool{}, patterns: map[string]bool{}, resolved: map[string]bool{},
	}
	folders := []string{folder}
	var words []string
	if f := parsed(text); f != nil {
		words, folders = t.shellWords(f)
	}
	// This also finds names in quotes, in other languages, and in texts that are not shell scripts.
	for _, token := range strings.FieldsFunc(text, notOfPath) {
		words = append(words, t.fill(token)...)
	}
	seen := map[string]bool{}
	for _, w := range words {
		for _, part := range parts(w) {
			if !seen[part] {
				seen[part] = true
				t.add(t.tilde(part), folders)
			}
		}
	}
	return t
}

// Mark sets Named in the denials whose target a command names: in a word of argv, or in a text that
// a shell among the words runs. The command ran in folder.
func Mark(denials []sandbox.Denial, argv []string, folder, home string, files sandbox.FileSystem) {
	if len(denials) == 0 || files == nil {
		return
	}
	texts := textsOf(argv, folder, home, Through(files))
	for i, d := range denials {
		denials[i].Named = slices.ContainsFunc(texts, func(t *Text) bool { return t.Target(d) })
	}
}

// Paths returns the paths that a command names, with those to which their links lead, sorted. It leaves out
// what the command makes anew (> file).
func Paths(argv []string, folder, home string, files sandbox.FileSystem) []string {
	all := map[string]bool{}
	texts := textsOf(argv, folder, home, Through(files))
	for _, t := range texts {
		maps.Copy(all, t.paths)
	}
	for _, t := range texts {
		for p := range t.made {
			delete(all, p)
			all[path.Dir(p)] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// textsOf returns the texts of a command: its words, and those that a shell among them runs.
func textsOf(argv []string, folder, home string, resolve func(string) string) []*Text {
	var words []string
	var texts []*Text
	for _, arg := range argv {
		if word, err := syntax.Quote(arg, syntax.LangBash); err == nil {
			words = append(words, word)
		}
		if strings.ContainsFunc(arg, unicode.IsSpace) {
			texts = append(texts, Read(arg, folder, home, resolve))
		}
	}
	return append(texts, Read(strings.Join(words, " "), folder, home, resolve))
}

// Through returns a resolve for Read, which follows the links of files.
func Through(files sandbox.FileSystem) func(path string) string {
	return func(p string) string {
		to, err := sandbox.Canonical(files, "/", p)
		if err != nil {
			return ""
		}
		return to
	}
}

// parsed parses a text. It returns nil if the text is too long or no shell text.
func parsed(text string) *syntax.File {
	if len(text) > maxParsed {
		return nil
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil
	}
	return f
}

// notOfPath reports a character that ends a path in most languages.
func notOfPath(r rune) bool {
	return r < 0x80 && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-~+@%${}", r)
}

// fill replaces the known variables of a token: $HOME and $PWD.
func (t *Text) fill(token string) []string {
	for name, value := range map[string]string{"HOME": t.home, "PWD": t.folder} {
		if value == "" || !strings.Contains(token, "$") {
			continue
		}
		token = strings.NewReplacer("${"+name+"}", value, "$"+name+"/", value+"/").Replace(token)
		if token == "$"+name {
			token = value
		}
	}
	if strings.ContainsAny(token, "${}") {
		return nil // the shell parser handles it if it is a shell text
	}
	return []string{token}
}

// Paths returns the paths that the text names, sorted.
func (t *Text) Paths() []string { return slices.Sorted(maps.Keys(t.paths)) }

// Exactly reports whether the text names the target of d in one word: the file itself, a missing
// parent folder, or the host.
func (t *Text) Exactly(d sandbox.Denial) bool {
	if d.Kind == sandbox.KindNetwork {
		h, err := sandbox.ParseHostPort(d.Target)
		return err == nil && t.host(h.Host)
	}
	return t.file(d.Target) || path.IsAbs(d.Requested) && t.file(path.Clean(d.Requested))
}

// Target is Exactly that also finds a file named by several words, or written next to a named file.
func (t *Text) Target(d sandbox.Denial) bool {
	if t.Exactly(d) {
		return true
	}
	change := d.Kind == sandbox.KindWrite || d.Kind == sandbox.KindProtected
	for _, target := range []string{d.Target, path.Clean(d.Requested)} {
		if path.IsAbs(target) && (t.file(target) || change && t.entry(target)) {
			return true
		}
	}
	return false
}

// entry reports whether the text names target in two words, its folder and its name (cp a /srv/).
// It also accepts a temporary file next to a named file, which is renamed to it later (sed -i).
func (t *Text) entry(target string) bool {
	folder, name := path.Split(target)
	folder = path.Clean(folder)
	if t.paths[folder] && t.last[name] {
		return true
	}
	for p := range t.paths {
		if beside, base := path.Split(p); path.Clean(beside) == folder && t.isDraft(name, base, folder) {
			return true
		}
	}
	return false
}

// isDraft reports whether programs use name for the new content of the file called base:
// "base.lock", ".base.swp", "base~", or a name from mkstemp(3). In the home folder generated names
// do not count, because programs use them there for their own files.
func (t *Text) isDraft(name, base, folder string) bool {
	if rest, ok := strings.CutPrefix(strings.TrimLeft(name, ".#"), strings.TrimLeft(base, ".")); ok && base != "" {
		return rest != "" && !unicode.IsLetter(rune(rest[0])) && !unicode.IsDigit(rune(rest[0]))
	}
	return folder != t.home && sandbox.MadeUp(name)
}

func (t *Text) file(target string) bool {
	if !path.IsAbs(target) || target == "/" {
		return false
	}
	if t.paths[target] {
		return true
	}
	for p := range t.paths {
		if sandbox.Covers(target, p) && !sandbox.Covers(target, t.folder) && !sandbox.Covers(target, t.home) {
			return true
		}
	}
	for p := range t.patterns {
		if matches(p, target) {
			return true
		}
	}
	return false
}

// host reports whether the text contains the name or address, not as part of another one.
func (t *Text) host(name string) bool {
	if name = strings.ToLower(name); name == "" {
		return false
	}
	of := func(c byte) bool {
		return c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 0x80
	}
	for rest := t.lower; ; {
		i := strings.Index(rest, name)
		if i < 0 {
			return false
		}
		before, after := rest[:i], rest[i+len(name):]
		dots := strings.HasPrefix(after, ".") && len(after) > 1 && of(after[1])
		if !strings.HasSuffix(before, ".") && (before == "" || !of(before[len(before)-1])) && !dots && (after == "" || !of(after[0])) {
			return true
		}
		rest = after
	}
}

// parts returns the parts of a word that can be a path: the word itself, and what follows the
// characters that options and lists use.
func parts(word string) []string {
	out := append(strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune("=:,@", r) }), word)
	if i := strings.IndexAny(word, "/~"); i > 0 && strings.HasPrefix(word, "-") {
		out = append(out, word[i:]) // -o/folder/file
	}
	return out
}

// add records the paths that a part of a word means in each of the folders.
func (t *Text) add(part string, folders []string) {
	if part == "" || len(part) > maxPath {
		return
	}
	if base := path.Base(part); !strings.Contains(base, hole) {
		t.last[base] = true
	}
	if strings.HasPrefix(part, hole) {
		folders = []string{""}
	}
	for _, dir := range folders {
		if len(t.paths)+len(t.patterns) >= maxNames {
			return
		}
		switch p := under(dir, part); {
		case strings.HasPrefix(part, hole):
			t.patterns[part] = true
		case strings.Contains(part, hole):
			t.patterns[p] = true
		default:
			t.paths[p] = true
			// Only a path outside the folder can be refused because of its place. Only such a path is worth
			// resolving.
			if strings.Contains(part, "/") {
				t.follow(p)
			}
		}
	}
}

// follow also records the path to which p resolves.
func (t *Text) follow(p string) {
	steps := strings.Count(p, "/")
	if t.resolve == nil || !path.IsAbs(p) || t.resolved[p] || t.steps+steps > maxSteps {
		return
	}
	t.resolved[p] = true
	t.steps += steps
	if to := t.resolve(p); to != "" && len(t.paths)+len(t.patterns) < maxNames {
		t.paths[to] = true
	}
}

// tilde replaces "~" by the home folder.
func (t *Text) tilde(name string) string {
	if t.home != "" && (name == "~" || strings.HasPrefix(name, "~/")) {
		return t.home + name[1:]
	}
	return name
}

func under(dir, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Clean(dir + "/" + name)
}

// matches reports whether a pattern can match target: its last part has a known letter, or the
// folder before it is fully known.
func matches(pattern, target string) bool {
	dir, base := path.Split(pattern)
	if strings.Trim(base, hole) == "" && (strings.Contains(dir, hole) || path.Dir(target) != path.Clean(dir)) {
		return false
	}
	parts := strings.Split(pattern, hole)
	if !strings.HasPrefix(target, parts[0]) {
		return false
	}
	rest := target[len(parts[0]):]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}

// shellWords returns the words of a shell text, with all values that the text itself assigns to its
// variables. It also returns the folders in which its commands may run.
func (t *Text) shellWords(f *syntax.File) (words, folders []string) {
	values := map[string][]string{"PWD": {t.folder}}
	if t.home != "" {
		values["HOME"] = []string{t.home}
	}
	give := func(name string, more ...string) {
		if v := append(slices.Clone(values[name]), more...); len(v) <= maxValues {
			values[name] = v
		}
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name != nil && n.Value != nil {
				give(n.Name.Value, expand(n.Value.Parts, values)...)
			}
		case *syntax.ForClause:
			if loop, ok := n.Loop.(*syntax.WordIter); ok {
				for _, w := range loop.Items {
					give(loop.Name.Value, expand(w.Parts, values)...)
				}
			}
		}
		return true
	})
	folders = []string{t.folder}
	size := 0
	syntax.Walk(f, func(n syntax.Node) bool {
		if size > maxWords {
			return false
		}
		switch n := n.(type) {
		case *syntax.CallExpr:
			if len(n.Args) == 2 && slices.Contains([]string{"cd", "pushd"}, n.Args[0].Lit()) {
				for _, to := range expand(n.Args[1].Parts, values) {
					dir := under(folders[len(folders)-1], t.tilde(to))
					if !strings.Contains(dir, hole) && len(dir) <= maxPath && len(folders) < maxFolders && !slices.Contains(folders, dir) {
						folders = append(folders, dir)
					}
				}
			}
		case *syntax.Redirect:
			if slices.Contains([]syntax.RedirOperator{syntax.RdrOut, syntax.RdrClob, syntax.RdrAll}, n.Op) {
				for _, w := range expand(n.Word.Parts, values) {
					t.made[under(folders[len(folders)-1], t.tilde(w))] = true
				}
			}
		case *syntax.Word:
			for _, w := range expand(n.Parts, values) {
				words = append(words, w)
				size += len(w)
			}
		}
		return true
	})
	return words, folders
}

// expand returns the values that a word can have, up to the limits.
func expand(parts []syntax.WordPart, values map[string][]string) []string {
	out := []string{""}
	times := func(more []string) {
		var next []string
		size := 0
		for _, a := range out {
			for _, b := range more {
				if size += len(a) + len(b); len(next) < maxValues && size <= maxWide {
					next = append(next, a+b)
				}
			}
		}
		out = next
	}
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			times([]string{literal(p.Value)})
		case *syntax.SglQuoted:
			times([]string{p.Value})
		case *syntax.DblQuoted:
			times(expand(p.Parts, values))
		case *syntax.ParamExp:
			v, exp := values[p.Param.Value], p.Exp
			if exp != nil && exp.Word != nil && (exp.Op == syntax.DefaultUnset || exp.Op == syntax.DefaultUnsetOrNull) {
				v, exp = append(slices.Clone(v), expand(exp.Word.Parts, values)...), nil
			}
			if len(v) > 0 && exp == nil && p.Slice == nil && p.Repl == nil && p.Index == nil && !p.Length && !p.Excl {
				times(v)
			} else {
				times([]string{hole})
			}
		default:
			times([]string{hole})
		}
	}
	return out
}

// literal removes the backslashes of an unquoted text. It replaces the characters of shell
// patterns.
func literal(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case c == '*' || c == '?':
			b.WriteString(hole)
		case c == '[' || c == '{':
			close := strings.IndexByte(s[i:], map[byte]byte{'[': ']', '{': '}'}[c])
			if close < 0 {
				b.WriteByte(c)
				continue
			}
			i += close
			b.WriteString(hole)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
