package rules

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// OverwritesRemote reports whether a command line may delete or overwrite refs of a remote git
// repository: by a git push with --force, --delete or the like, or with a word that the shell may turn into
// one. It looks at the words, wherever they stand, as they are written and as bash would pass them: a text
// that merely mentions such a push counts too. It cannot see the contents of scripts that the line names,
// nor git's configuration. So it only decides whether to ask; it is not a security boundary.
func OverwritesRemote(line string) bool {
	line = strings.ReplaceAll(line, "\\\n", "")
	if !mentionsPush(bare.Replace(line)) && !strings.Contains(line, "$'") {
		return false
	}
	if len(line) <= MaxLine {
		if with := resolved(line); len(with) <= MaxLine {
			line = with
		}
	}
	if overwritesAsRun(line, 0) {
		return true
	}
	line = plainWords.Replace(line)
	anywhere := slices.ContainsFunc(strings.Fields(line), overwrites)
	for _, part := range strings.FieldsFunc(line, func(c rune) bool { return strings.ContainsRune("\n;&|", c) }) {
		if words := strings.Fields(part); pushesOver(words) || anywhere && computed(words) {
			return true
		}
	}
	return false
}

// overwritesAsRun looks at the words that bash would pass to each program of the line: quotes keep together
// what they hold. Words of several words are read as lines themselves.
func overwritesAsRun(line string, depth int) (found bool) {
	if len(line) > MaxLine || depth > maxNested {
		return false
	}
	f, err := parse(line)
	if err != nil {
		return false
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			words := make([]string, len(n.Args))
			for i, w := range n.Args {
				words[i], _ = wordText(w)
			}
			if len(words) > 0 && words[0] == n.Args[0].Lit() && strings.ContainsAny(words[0], "{[") {
				words[0] = "$"
			}
			found = found || pushesOver(words)
		case *syntax.Word:
			if text, _ := wordText(n); strings.ContainsAny(text, " \t\n") {
				found = found || overwritesAsRun(text, depth+1)
			}
		}
		return !found
	})
	return found
}

// OverwritesByWords is OverwritesRemote for the words of one program.
func OverwritesByWords(words []string) bool {
	return pushesOver(words) || slices.ContainsFunc(words, func(word string) bool { return strings.ContainsAny(word, " \t\n") && OverwritesRemote(word) })
}

// pushesOver looks at the words alone, and not at what lines they hold.
func pushesOver(words []string) bool {
	for i, word := range words {
		if isGit(word) && forced(words[i:], slices.Contains(words[:i], "xargs")) {
			return true
		}
	}
	return false
}

// maxPushWords limits the words of a push. Anything longer counts as overwriting.
const maxPushWords = 256

// forced reports whether the words of git push so. more: they get arguments that are not known.
func forced(words []string, more bool) bool {
	config := false
	for i, word := range words {
		config = config || word == "config"
		switch {
		case i > maxPushWords:
			return true
		case mentionsPush(word):
			over := func(word string) bool { return overwrites(word) || expanded(word) }
			return more || len(words) > maxPushWords || slices.ContainsFunc(words[i:], over) || slices.ContainsFunc(strings.Fields(plainWords.Replace(word)), over) ||
				slices.ContainsFunc(words[:i], mirrors)
		case i == 0, config, strings.HasPrefix(word, "-"), expanded(word):
		case !strings.HasPrefix(words[i-1], "-") && !strings.ContainsAny(words[i-1], ".$"):
			return false // another subcommand: this is no value of an option or a setting
		}
	}
	return false
}

// mirrors reports the setting remote.NAME.mirror, with or without a value.
func mirrors(word string) bool {
	key, _, _ := strings.Cut(strings.ToLower(word), "=")
	return strings.HasSuffix(key, ".mirror")
}

// pushes are the subcommands of git that send refs, and overwriting their options that delete or overwrite refs.
var (
	pushes      = []string{"push", "send-pack", "http-push"}
	overwriting = []string{"--force", "--force-with-lease", "--mirror", "--delete", "--prune"}
)

// plainWords removes quotes and backslashes, and separates what brackets, braces and "=" join.
var plainWords = strings.NewReplacer("'", "", `"`, "", `\`, "", "`", " ", "(", " ", ")", " ", "{", " ", "}", " ", "[", " ", "]", " ", ",", " ", "=", " ", "<", " ", ">", " ")

// namesBranch is a substitution that prints the name of a branch, assigned an assignment with its value or a
// loop with its values, and used a use of a variable.
var namesBranch, assigned, used = once("\\$\\(\\s*git (?:branch|rev-parse|symbolic-ref)\\b[^()`;&|\n]*\\)|`\\s*git (?:branch|rev-parse|symbolic-ref)\\b[^()`;&|\n]*`"),
	once(`\b(?:for\s+)?(\w+)(\+?=|\s+in\s)('[^']*'|"[^"]*"|\([^)]*\)|\$\([^)]*\)|[^;&|\s]*(?: [^;&|\n]*?[;\n]\s*do\b)?)`),
	once(`\$(?:(\w+)|\{(\w+)(?:\[@\])?\})`)

func once(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// resolved puts the values that a line assigns in place of its variables.
func resolved(line string) string {
	line = namesBranch().ReplaceAllStringFunc(line, func(printed string) string {
		if slices.ContainsFunc(strings.Fields(strings.Trim(printed, "`)")), overwrites) {
			return printed
		}
		return "branch"
	})
	values := map[string]string{}
	for _, m := range assigned().FindAllStringSubmatch(line, -1) {
		if m[2] != "+=" {
			values[m[1]] += " "
		}
		values[m[1]] += strings.TrimSuffix(m[3], "do")
	}
	return used().ReplaceAllStringFunc(line, func(use string) string {
		m := used().FindStringSubmatch(use)
		if value, ok := values[m[1]+m[2]]; ok {
			return strings.Trim(value, ` '";`)
		}
		return use
	})
}

func mentionsPush(text string) bool {
	return slices.ContainsFunc(pushes, func(name string) bool { return strings.Contains(text, name) })
}

// isGit reports a word that is the program git, or may become it.
func isGit(word string) bool {
	name := base(word)
	return name == "git" || strings.HasPrefix(name, "git-") && mentionsPush(name) || expanded(word)
}

// expanded reports a word that the shell replaces: anything may come of it.
func expanded(word string) bool {
	return strings.HasPrefix(strings.TrimLeft(word, "-"), "$") || strings.ContainsAny(base(word), "*?") && !strings.Contains(word, ":")
}

// computed reports a git command whose subcommand is expanded.
func computed(words []string) bool {
	git := slices.IndexFunc(words, isGit)
	return git >= 0 && len(words) > git+1 && expanded(words[git+1])
}

// overwrites reports an argument of a push that forces or deletes, or may do so.
func overwrites(word string) bool {
	switch {
	case word == "":
		return false
	case strings.HasPrefix(word, "--"):
		return strings.Contains(word, "$") || len(word) > 2 && slices.ContainsFunc(overwriting, func(option string) bool { return strings.HasPrefix(option, word) })
	case word[0] == '-':
		letters, _, _ := strings.Cut(word[1:], "o") // what follows is the value of -o
		return strings.ContainsAny(letters, "fd$")
	}
	return word[0] == '+' || word[0] == ':' && len(word) > 1
}
