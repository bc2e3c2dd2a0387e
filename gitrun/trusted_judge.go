package gitrun

import (
	"path"
	"slices"
	"strings"

	"codeagent/internal/git"
	"codeagent/sandbox"
)

// What a configuration trusts is decided by the values, not by a list of the keys that name
// programs: there are many such keys, each version adds more, and the names of aliases and
// drivers are arbitrary.
//
//	the file that contains a setting      trusted: git included it
//	a value that is the path of a file    trusted
//	a word of a value, with a slash       trusted: a program or its argument, present or absent
//	a word after the first, without one   trusted if it is a file ("python clean.py")
//	a value that is a folder, or absent   trusted if the key takes a path (it ends in path, file or dir)
//
// Words are those of a shell, and those inside quoted words; "a=b" counts also as b. Where that
// is uncertain, each piece of the text that looks like a path counts.
//
// Known are only the keys that hold no program: texts, refs, addresses of repositories and work
// trees. They are compared as a whole, since the parts of an alias's key are arbitrary.

// trustJudge collects what is trusted.
type trustJudge struct {
	policy sandbox.Policy
	files  sandbox.FileSystem
	home   string
	tops   []string
	out    []string
	// looks counts what was looked up; beyond mostLooks nothing more is.
	looks int
}

func (j *trustJudge) judge(s git.Setting) {
	j.add(j.resolve("/", s.File), isFile)
	value := strings.TrimPrefix(s.Value, ":(optional)")
	switch {
	case s.Includes():
		j.add(j.resolve(path.Dir(s.File), value), isFile|isAbsent)
		return
	case s.Inert():
		return
	case s.Section == "url" && strings.Contains(s.Middle(), "::"):
		value = s.Middle()
	}
	alias := s.Section == "alias"
	for _, top := range j.tops {
		if s.TakesPath() && !alias {
			j.folder(top, s.Name, value)
		}
		if strings.Contains(value, "/") {
			j.add(j.resolve(top, value), isFile)
		}
		j.words(top, alias && !strings.HasPrefix(value, "!"), value, 0)
	}
}

// folder judges a value that is a path, of programs perhaps.
func (j *trustJudge) folder(top, name, value string) {
	p := j.resolve(top, value)
	if strings.HasSuffix(strings.ToLower(name), "hookspath") {
		p = j.manager(top, p)
	}
	j.add(p, isFile|isFolder|isAbsent)
}

// holdsPrograms reports an option, a variable or a key whose value is a folder of programs, or
// several with colons.
func holdsPrograms(name string) bool {
	lower := strings.ReplaceAll(strings.ToLower(name), "_", "-")
	return name == "PATH" || slices.ContainsFunc([]string{"hookspath", "templatedir", "exec-path", "template", "template-dir"}, func(end string) bool {
		return strings.HasSuffix(lower, end)
	})
}

// manager returns the folder of a hook manager that generates hooks in it: husky's .husky/_
// runs the scripts in .husky.
func (j *trustJudge) manager(top string, hooks []string) []string {
	var out []string
	for _, p := range hooks {
		if dir := path.Dir(p); dir != top && strings.HasPrefix(path.Base(dir), ".") && !git.IsEntry(path.Base(dir)) {
			p = dir
		}
		out = append(out, p)
	}
	return out
}

// mostNested bounds how deep quoted words are split again ("sh -c 'sh -c ./a'").
const mostNested = 4

// words judges the words of a command line. gits: it is a command of git, whose words without
// a slash are not files to run.
func (j *trustJudge) words(top string, gits bool, value string, depth int) {
	if j.looks > mostLooks {
		return
	}
	for i, word := range shellWords(strings.TrimPrefix(value, "!")) {
		j.word(top, word, i > 0 && !gits)
		// What follows is a command for a shell: submodule foreach, bisect run.
		gits = gits && word != "foreach" && word != "run"
		name, assigned, ok := strings.Cut(word, "=")
		if ok {
			j.word(top, assigned, false)
			j.assigned(top, name, assigned)
		}
		for _, part := range []string{word, assigned} {
			if depth < mostNested && (strings.ContainsAny(part, " \t\n;&|()") || part != value && strings.Contains(part, "=")) {
				j.words(top, false, part, depth+1)
			}
		}
	}
	for i, piece := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()<>{}'\"`!=:,", r) }) {
		j.word(top, piece, i > 0 && !gits)
		// A variable or a command may stand for the top: $(git rev-parse --show-toplevel)/a.sh.
		if before, below, ok := strings.Cut(piece, "/"); ok && strings.ContainsAny(value, "$`") && (before == "" || before[0] == '$' && plainPath(before[1:])) {
			j.word(top, "./"+below, false)
		}
	}
}

// shellWords splits a command line as a shell does. It does not expand anything; operators
// separate words, and the end of the text closes a quote.
func shellWords(line string) (words []string) {
	var word strings.Builder
	started := false
	quote := rune(0)
	escaped := false
	end := func() {
		if started {
			words = append(words, word.String())
		}
		word.Reset()
		started = false
	}
	for _, c := range line {
		switch {
		case escaped:
			if quote == '"' && !strings.ContainsRune("\"\\$`\n", c) {
				word.WriteByte('\\')
			}
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			escaped, started = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, started = c, true
		case strings.ContainsRune(" \t\r\n;&|()<>", c):
			end()
		default:
			word.WriteRune(c)
			started = true
		}
	}
	end()
	return words
}

// assigned judges "-c core.hooksPath=hooks", "--exec-path=tools" and "PATH=tools:$PATH".
func (j *trustJudge) assigned(top, name, value string) {
	if !holdsPrograms(name) {
		return
	}
	for dir := range strings.SplitSeq(value, ":") {
		if dir = expand(dir, j.home, top); !strings.HasPrefix(dir, "$") {
			j.folder(top, name, dir)
		}
	}
}

// word judges one word. bare: it counts without a slash as well.
func (j *trustJudge) word(top, word string, bare bool) {
	word = expand(word, j.home, top)
	slash := strings.Contains(word, "/")
	switch {
	case slash && plainPath(word):
		j.add(j.resolve(top, word), isFile|isAbsent)
	case slash || bare: // a first word without a slash is looked up in PATH
		j.add(j.resolve(top, word), isFile)
	}
	if strings.HasPrefix(word, "-") && slash && len(word) < mostOption { // -x./program, -yx./program
		for i := 2; i < strings.LastIndexByte(word, '/'); i++ {
			j.add(j.resolve(top, expand(word[i:], j.home, top)), isFile)
		}
		if i := strings.Index(word, "./"); i > 0 && plainPath(word[i:]) {
			j.add(j.resolve(top, word[i:]), isAbsent)
		}
	}
}

// mostOption bounds an option whose argument may follow without a space.
const mostOption = 300

// expand replaces a variable at the beginning of name: ~, $HOME, $PWD.
func expand(name, home, top string) string {
	for _, v := range []struct{ name, value string }{
		{"~/", home + "/"}, {"$HOME/", home + "/"}, {"${HOME}/", home + "/"}, {"$PWD/", top + "/"}, {"${PWD}/", top + "/"},
	} {
		if rest, ok := strings.CutPrefix(name, v.name); ok && v.value != "/" {
			return v.value + rest
		}
	}
	return name
}

// plainPath reports a word that can be the path of a file that is to come: not a folder, a
// command line, a pattern, a format, an address of another machine, or a ref.
func plainPath(word string) bool {
	first, _, _ := strings.Cut(word, " ")
	return !strings.ContainsAny(word, "*?[](){}|^$%\\<>\"'`;&!=\n\t") && !strings.Contains(word, "://") && !strings.Contains(word, "::") &&
		(first == word || strings.Contains(first, "/")) && !strings.HasPrefix(word, git.Refs+"/") && !strings.HasSuffix(word, "/") && !strings.HasPrefix(word, "-")
}

// kind is a set of file types that count at a path.
type kind int

const (
	isFile kind = 1 << iota
	isFolder
	isAbsent
)

// resolve returns the paths that decide what name means from the folder base: each link on the way,
// and the target.
func (j *trustJudge) resolve(base, name string) []string {
	name = expand(name, j.home, base)
	if name == "" || strings.HasPrefix(name, "~") || strings.ContainsRune(name, 0) {
		return nil
	}
	if j.looks += 1 + strings.Count(name, "/"); j.looks > mostLooks {
		return nil
	}
	way, err := sandbox.Way(j.files, base, name)
	if err != nil { // a loop, what cannot be read, or ".." after what is missing, which a command could make
		if !path.IsAbs(name) {
			name = path.Join(base, name)
		}
		clean, _ := sandbox.Way(j.files, "/", path.Clean(name))
		way = append(way, clean...)
	}
	return way
}

// add adds those of paths that are in a write root and of one of the kinds. A
// folder that contains a repository or a write root is left out: git works on it.
func (j *trustJudge) add(paths []string, kinds kind) {
	for _, p := range paths {
		if !j.writable(p) || slices.Contains(j.out, p) || j.kindOf(p)&kinds == 0 {
			continue
		}
		j.out = append(j.out, p)
	}
}

func (j *trustJudge) writable(p string) bool {
	inside := func(root sandbox.Root) bool { return root.Path != p && sandbox.Covers(root.Path, p) }
	around := func(root sandbox.Root) bool { return sandbox.Covers(p, root.Path) }
	holdsTop := slices.ContainsFunc(j.tops, func(top string) bool { return sandbox.Covers(p, top) })
	return slices.ContainsFunc(j.policy.Write, inside) && !slices.ContainsFunc(j.policy.Write, around) && !holdsTop && j.policy.JudgeWrite(p).Allowed
}

func (j *trustJudge) kindOf(p string) kind {
	there := func(name string) bool {
		_, err := j.files.Lstat(path.Join(p, name))
		return err == nil
	}
	mode, err := j.files.Lstat(p)
	switch {
	case err != nil:
		return isAbsent
	case !mode.IsDir():
		return isFile
	case there(git.Entry) || git.Marked(there):
		return 0
	}
	return isFolder
}
