package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/config"
)

// TestMasked: what somebody else may read of the settings has no text that could be a secret,
// nor a name of a provider, a model or a header.
func TestMasked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.toml")
	text := "model = \"s3cret-model\"\nask_for_approval = \"never\"\n[tui]\nmouse = false\n[sandbox.limits]\nwall_s = 7\n[sandbox.env.set]\nTOKEN = \"s3cret\"\n" +
		"[providers.s3cret]\nbase_url = \"http://s3cret.example/v1\"\nheaders = { s3cret = \"s3cret\" }\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(t.Context(), config.Sources{File: file, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(c.Masked(), "\n")
	for _, want := range []string{"ask_for_approval = never", "tui.mouse = false", "sandbox.limits.wall_s = 7", "model = (set)", "providers.NAME.headers = (set)", "sandbox.env.set = (set)"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if strings.Contains(got, "s3cret") {
		t.Errorf("%q", got)
	}
}
