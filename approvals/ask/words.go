package ask

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"codeagent/approvals/decide"
	"codeagent/approvals/rules"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/sandbox"

	"mvdan.cc/sh/v3/syntax"
)

// who names the program or tool that wants something, in at most 40 letters. It adds a note if the
// command starts further programs.
func who(a decide.Action) string {
	if a.Calls() {
		return "the tool " + plainName(a.Server.Tool) + " of the MCP server " + plainName(a.Server.Server)
	}
	if a.Kind != word.KindCommand {
		return plainName(a.Tool)
	}
	name, more := programs(a.Command)
	return plainName(name) + more
}

// wants is who, and that it or they want something.
func wants(who string) string {
	if _, others, ok := strings.Cut(who, " and "); ok && strings.Contains(others, "other program") {
		return who + " want"
	}
	return who + " wants"
}

// programs returns the name of the first program of a command, and the number of programs after it.
// It skips "cd", which only sets the folder.
func programs(command string) (name, more string) {
	f, opaque := rules.ParseLine(command)
	if opaque != "" {
		line, rest, _ := strings.Cut(strings.TrimSpace(command), "\n")
		if rest != "" || strings.ContainsAny(line, ";&|`") || strings.Contains(line, "$(") {
			more = " and other programs"
		}
		return starts(strings.Fields(line)), more
	}
	count := 0
	syntax.Walk(f, func(n syntax.Node) bool {
		c, ok := n.(*syntax.CallExpr)
		if !ok || len(c.Args) == 0 {
			return true
		}
		var words []string
		for _, w := range c.Args[:min(len(c.Args), 2)] {
			words = append(words, command[w.Pos().Offset():w.End().Offset()])
		}
		if words[0] == "cd" {
			return true
		}
		if count++; count == 1 {
			name = starts(words)
		}
		return true
	})
	if count > 1 {
		more = " and " + short.Count(count-1, "other program")
	}
	return name, more
}

// plainName returns a program's name for one line, in at most 40 letters.
func plainName(name string) string {
	return plainWord(short.Cut(strings.ToValidUTF8(name, "?"), 40))
}

// plainPath returns a program's path for one line. It cuts a long path in the middle, since
// its first folder and its name are the most informative parts.
func plainPath(path string) string {
	return plainWord(short.Middle(strings.ToValidUTF8(path, "?"), 81))
}

func plainWord(word string) string {
	plain := strings.Map(func(r rune) rune {
		if decide.PlainText(string(r)) != nil {
			return '?'
		}
		return r
	}, word)
	return cmp.Or(plain, "a command")
}

// commanders are programs whose first argument says what they do.
var commanders = []string{"apt", "apt-get", "brew", "bun", "cargo", "docker", "gh", "git", "go", "kubectl", "npm", "pip", "pip3", "pnpm", "terraform", "uv", "yarn"}

// keywords are words of the shell itself where a program's name could be.
var keywords = []string{"!", "(", "{", "[", "[[", "case", "export", "for", "if", "set", "until", "while"}

// starts returns the program that a command line starts: the first word after assignments, as
// written. For commanders it includes the second word if that is plain.
func starts(words []string) string {
	for len(words) > 1 && strings.Contains(words[0], "=") {
		words = words[1:]
	}
	if len(words) == 0 || slices.Contains(keywords, words[0]) {
		return "" // no program
	}
	name := words[0]
	if len(words) > 1 && slices.Contains(commanders, path.Base(name)) && strings.Trim(words[1], "abcdefghijklmnopqrstuvwxyz-") == "" {
		return name + " " + words[1]
	}
	return name
}

// heldWho names the program that was refused by its file, which is a fact. The name that it
// gave itself and the words of the command are not.
func heldWho(d sandbox.Denial) string {
	switch {
	case d.Executable != "":
		return decide.Show(plainPath(d.Executable))
	case d.Program != "":
		return plainName(d.Program)
	}
	return sandbox.Unexamined
}

// refusedWho names the programs that were refused something that mattered, with their verb. It uses
// the executables that the kernel recorded, or else the program in the command's text.
func refusedWho(a decide.Action, denials []sandbox.Denial) string {
	var names []string
	for _, d := range denials {
		if name := heldWho(d); !d.Moot && d.Evidence == sandbox.EvidenceKernel && d.Executable != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch len(names) {
	case 0:
		return who(a) + " was"
	case 1:
		return names[0] + " was"
	}
	return fmt.Sprintf("%s and %d more were", names[0], len(names)-1)
}
