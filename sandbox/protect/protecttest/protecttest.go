// Package protecttest gives names of the table of sandbox/protect to tests that need some protected
// name, whichever it is. So which names there are is tested in that room alone: a row less, or another
// one, changes no other test.
package protecttest

import (
	"fmt"
	"slices"
	"strings"

	"codeagent/sandbox/protect"
)

// Plain are the names of a kind that have one component, as .envrc.
func Plain(kind protect.Kind) []string { return of(kind, false) }

// Nested are the names of a kind that have several components, as .vscode/tasks.json. The folder of
// such a name is not protected, but nothing may bring one under its name.
func Nested(kind protect.Kind) []string { return of(kind, true) }

// Git is some paths of a git directory for tests that protect such paths themselves, whatever the table has.
func Git(dir string) []string {
	return []string{dir + "/config", dir + "/config.worktree", dir + "/hooks", dir + "/commondir", dir + "/gitdir"}
}

func of(kind protect.Kind, nested bool) (names []string) {
	for _, name := range protect.Names() {
		if protect.Of(name).Kind == kind && strings.Contains(name, "/") == nested {
			names = append(names, name)
		}
	}
	if len(names) < 2 {
		panic(fmt.Sprintf("the table has %d such names of the kind %q", len(names), kind))
	}
	return names
}

// words are the words of In, each with its name. The second agent's is for tests that need one that is
// absent.
func words() []string {
	return []string{
		"{agent}", Plain(protect.Agent)[0], "{agent2}", Plain(protect.Agent)[1], "{shell}", Plain(protect.Shell)[0],
		"{editor}", Nested(protect.Editor)[0], "{repository}", Nested(protect.VersionControl)[0],
	}
}

// In is text with names for words: {agent}, {agent2}, {shell}, and of several components {editor} and
// {repository}, of which {editor/} is the first component and {/editor} are the others. A word in capitals
// is another spelling of the name.
func In(text string) string {
	words := words()
	for _, word := range []string{"editor", "repository"} {
		folder, rest, _ := strings.Cut(words[slices.Index(words, "{"+word+"}")+1], "/")
		words = append(words, "{"+word+"/}", folder, "{/"+word+"}", rest)
	}
	for _, word := range words {
		words = append(words, strings.ToUpper(word))
	}
	return strings.NewReplacer(words...).Replace(text)
}

// Out is text with words for names, for files that must not change with the table.
func Out(text string) string {
	words := words()
	for i := 0; i < len(words); i += 2 {
		words[i], words[i+1] = words[i+1], words[i]
	}
	return strings.NewReplacer(words...).Replace(text)
}
