package config_test

import (
	"fmt"
	"strings"
	"testing"

	"codeagent/config"
)

// TestLanguageServers: a table changes what it sets of a known server, and adds one that is not known.
func TestLanguageServers(t *testing.T) {
	for _, c := range []struct{ file, want, problem string }{
		{file: "", want: "clangd gopls pyright rust-analyzer typescript"},
		{file: "[diagnostics]\nenabled = false\n", want: ""},
		{file: "[diagnostics.servers.gopls]\nenabled = false\n", want: "clangd pyright rust-analyzer typescript"},
		{file: "[diagnostics.servers.gopls]\nread = ['~/sdk']\n", want: "clangd gopls pyright rust-analyzer typescript"},
		{file: "[diagnostics.servers.x]\ncommand = 'x'\nextensions = ['.x']\nlanguage = 'ex'\n", want: "clangd gopls pyright rust-analyzer typescript x"},
		{file: "[diagnostics.servers.x]\ncommand = 'x'\n", problem: "needs a command and extensions"},
		{file: "[diagnostics.servers.x]\ncommand = 'x'\nextensions = ['x']\n", problem: "is not the end of a file name"},
		{file: "[diagnostics.servers.'a/b']\ncommand = 'x'\nextensions = ['.x']\n", problem: "the name of a language server"},
	} {
		got, err := load(t, c.file, config.Sources{})
		if c.problem != "" {
			if err == nil || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%q: %v", c.file, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, s := range got.LanguageServers() {
			names = append(names, s.Name)
			switch s.Name {
			case "x":
				if s.Languages[".x"] != "ex" {
					t.Errorf("%+v", s)
				}
			case "gopls":
				if s.Command != "gopls" || strings.Contains(c.file, "sdk") != strings.Contains(fmt.Sprint(s.Read), "~/sdk") {
					t.Errorf("%q: %+v", c.file, s)
				}
			}
		}
		if strings.Join(names, " ") != c.want {
			t.Errorf("%q: %v, want %s", c.file, names, c.want)
		}
	}
}
