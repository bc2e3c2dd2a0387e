package rules

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// OverwritesRemote reports whether a command line may delete or overwrite refs of a remote git
// repository: by a git push with --force, --delete or the like, or with a word that the shell may turn into
// one. It looks only at the words, wherever they stand: a text that merely mentions such a push counts too.
// It cannot see the contents of scripts that the line names, nor git's configuration. So it only decides
// whether to ask; it is not a security boundary.
func OverwritesRemote(line string) bool {
	line = strings.ReplaceAll(line, "\\\n", "")
	if !mentionsPush(bare.Replace(line)) {
		return false
	}
	if len(line) <= MaxLine {
		line = resolved(line)
	}
	line = plainWords.Replace(line)
	anywhere := slices.ContainsFunc(strings.Fields(line), overwrites)
	for _, part := range strings.FieldsFunc(line, func(c rune) bool { return strings.ContainsRune("\n;&|", c) }) {
		if words := strings.Fields(part); OverwritesByWords(words) || anywhere && computed(words) {
			return true
		}
	}
	return false
}

// OverwritesByWords is OverwritesRemote for the words of one program.
func OverwritesByWords(words []string) bool {
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
	for i, word := range words {
		switch {
		case i > maxPushWords:
			return true
		case mentionsPush(word):
			return more || len(words) > maxPushWords || slices.ContainsFunc(words[i:], func(word string) bool { return overwrites(word) || expanded(word) }) ||
				slices.ContainsFunc(words[:i], func(word string) bool { return strings.HasSuffix(word, ".mirror") })
		case i == 0, word == "config", strings.HasPrefix(word, "-"), expanded(word):
		case !strings.HasPrefix(words[i-1], "-") && !strings.ContainsAny(words[i-1], ".$"):
			return false // another subcommand: this is no value of an option or a setting
		}
	}
	return false
}

// pushes are the subcommands of git that send refs, and overwriting their options that delete or overwrite refs.
var (
	pushes      = []string{"push", "send-pack", "http-push"}
	overwriting = []string{"--force", "--force-with-lease", "--mirror", "--delete", "--prune"}
)

// plainWords removes quotes and backslashes, and separates what brackets, braces and "=" join.
var plainWords = strings.NewReplacer("'", "", `"`, "", `\`, "", "`", " ", "(", " ", ")", " ", "{", " ", "}", " ", "[", " ", "]", " ", ",", " ", "=", " ", "<", " ", ">", " ")

// named are a substitution that prints the name of a branch, an assignment with its value, a loop with its
// values, and a use of a variable.
var namesBranch, assigned, used = once(`\$\(\s*git (branch|rev-parse|symbolic-ref)\b[^()]*\)`),
	once(`\b(?:for\s+)?(\w+)(\+?=|\s+in\s)('[^']*'|"[^"]*"|\([^)]*\)|\$\([^)]*\)|[^;&|\s]*(?: [^;&|\n]*?;\s*do\b)?)`),
	once(`\$\{?(\w+)(?:\[@\])?\}?`)

func once(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// resolved puts the values that a line assigns in place of its variables.
func resolved(line string) string {
	line = namesBranch().ReplaceAllString(line, "branch")
	values := map[string]string{}
	for _, m := range assigned().FindAllStringSubmatch(line, -1) {
		if m[2] != "+=" {
			values[m[1]] += " "
		}
		values[m[1]] += strings.TrimSuffix(m[3], "do")
	}
	return used().ReplaceAllStringFunc(line, func(use string) string {
		if value, ok := values[used().FindStringSubmatch(use)[1]]; ok {
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
