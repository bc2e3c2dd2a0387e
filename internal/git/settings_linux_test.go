//go:build linux

package git

import (
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
)

// settingTexts are files of settings, and parts that TestSettingsAsGit joins to others.
var settingTexts = []string{
	"[core]\n\thooksPath = .husky\n", "[core] hooksPath=x\n", "[a \"B c\"]x=1\n[a.B]y\n", "[a \"q\\\"\\\\z\"]\nk = v ; comment\n", "\uFEFF[a]\nb=c",
	"[a]\nb = \"x # y\" z   # w\n", "[a]\nb = one\\\n  two\\\n", "[a]\r\nb = c\r\nd\r\n", "[a]b = \"open\n", "[a", "[]\n", "[a]\n1=2\n", "[a]\nb c\n", "[a]\nb =\n",
	"[a]\nb=\\q\n", "[a]\nb=\\t\\n\\b\\\"\n", "; only\n# this", "[a \"x\" ]\nb=1\n", "[a\t\"x\"]\nb=1\n", "[a_b]\nc=1\n", "[A-1.X]\nKey-2 = V\n", "[include]\npath = x\n",
	"[a]b=1 [c]d=2\n", "[a]\nb=\\", "[a \"x\\", "[a]\n\tb\t=\t c \td\t \n", "[a]b=x\ry\n", "[ a]\nb=1\n", "[a \"\"]\nb=1\n", "[a]\n=1\n",
}

// TestSettingsAsGit: what git reads from a text is what Parse reads, and what git
// refuses is an error.
func TestSettingsAsGit(t *testing.T) {
	const program = "/usr/bin/git"
	if err := exec.Command(program, "version").Run(); err != nil {
		t.Skip("needs ", program)
	}
	texts := append([]string{""}, settingTexts...)
	random := rand.New(rand.NewPCG(1, 2))
	for range 150 { // joined, and one byte changed
		text := []byte(settingTexts[random.IntN(len(settingTexts))] + settingTexts[random.IntN(len(settingTexts))])
		text[random.IntN(len(text))] = "[]\"\\=#; \n\ra.-"[random.IntN(13)]
		texts = append(texts, string(text))
	}
	spaces := strings.NewReplacer("\t", " ")
	for _, text := range texts {
		cmd := exec.Command(program, "config", "--file", "-", "--list", "-z", "--no-includes")
		cmd.Stdin, cmd.Env = strings.NewReader(text), []string{"LC_ALL=C"}
		want, failed := cmd.Output()
		settings, err := Parse("f", text)
		var got strings.Builder
		for _, s := range settings {
			got.WriteString(s.Key + "\n" + s.Value + "\x00")
		}
		// For git a key without "=" has no value; here its value is empty.
		asked := ""
		for one := range strings.SplitSeq(strings.TrimSuffix(string(want), "\x00"), "\x00") {
			if key, value, _ := strings.Cut(one, "\n"); key != "" {
				asked += key + "\n" + value + "\x00"
			}
		}
		if (err != nil) != (failed != nil) || err == nil && spaces.Replace(got.String()) != spaces.Replace(asked) {
			t.Errorf("%q: %q %v, git reads %q %v", text, got.String(), err, asked, failed)
		}
	}
}

func TestMiddle(t *testing.T) {
	for key, want := range map[string]string{"url.ext::a.b.insteadOf": "ext::a.b", "core.bare": "", "x": "", "a.b.c": "b"} {
		if got := setting("", key, "").Middle(); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}
