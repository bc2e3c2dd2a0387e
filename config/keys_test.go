package config_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/config"
)

// keysHome is a folder of codeagent's own, and what loads the settings in it.
func keysHome(t *testing.T, settings string) (config.Paths, func(vars map[string]string) config.Config) {
	t.Helper()
	paths, err := config.FindPaths(env(map[string]string{"CODEAGENT_HOME": t.TempDir()}), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(paths.File, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	return paths, func(vars map[string]string) config.Config {
		t.Helper()
		c, err := config.Load(context.Background(), config.Sources{File: paths.File, Keys: paths.KeysFile(), Getenv: env(vars)})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
}

// TestKeptKeys: a key is kept in a file that only its user may read, the environment comes before it, and it
// reaches no other host.
func TestKeptKeys(t *testing.T) {
	paths, load := keysHome(t, "")
	none := env(nil)
	groq, _ := load(nil).Provider("groq", none)
	if groq.Lacks(none) != "GROQ_API_KEY" || groq.KeySource(none) != "" {
		t.Errorf("without a key: lacks %q", groq.Lacks(none))
	}
	if err := paths.KeepKey(t.Context(), groq, none, "kept-key-value"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(paths.KeysFile()); err != nil || info.Mode() != 0o600 {
		t.Errorf("the file: %v, %v", info.Mode(), err)
	}
	c := load(nil)
	groq, _ = c.Provider("groq", none)
	if groq.Key(none).Reveal() != "kept-key-value" || groq.Lacks(none) != "" || groq.KeySource(none) != "the kept key" {
		t.Errorf("kept: %q, lacks %q", groq.Key(none).Reveal(), groq.Lacks(none))
	}
	set := map[string]string{"GROQ_API_KEY": "from-environment"}
	if groq.Key(env(set)).Reveal() != "from-environment" || groq.KeySource(env(set)) != "$GROQ_API_KEY" {
		t.Error("the environment does not come first")
	}
	for _, p := range c.Ready(none) {
		if p.Name == "mistral" || p.Name == "openai" {
			t.Errorf("%s is ready without a key", p.Name)
		}
	}
	// Neither a dump nor JSON shows it.
	data, _ := json.Marshal(groq)
	for _, text := range []string{fmt.Sprintf("%v %+v %#v", groq, groq, groq), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c), string(data), strings.Join(groq.KeyHints(none, "f"), "\n"), strings.Join(c.Masked(), "\n")} {
		if strings.Contains(text, "kept-key-value") {
			t.Errorf("the key shows: %s", text)
		}
	}
	// The same name elsewhere: the key stays.
	for _, base := range []string{"https://attacker.example/v1", "http://api.groq.com/openai/v1", "https://api.groq.com:8443/openai/v1"} {
		if err := os.WriteFile(paths.File, []byte("[providers.groq]\nbase_url = '"+base+"'\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		other, _ := load(nil).Provider("groq", none)
		if other.Key(none).Reveal() != "" || !strings.Contains(strings.Join(other.KeyHints(none, "f"), "\n"), `for another address, "https://api.groq.com"`) {
			t.Errorf("%s gets the key: %q", base, other.KeyHints(none, "f"))
		}
	}
	if err := os.WriteFile(paths.File, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// Another one replaces it, and it can be forgotten.
	if err := paths.KeepKey(t.Context(), groq, none, "second-key-value"); err != nil {
		t.Fatal(err)
	}
	if groq, _ = load(nil).Provider("groq", none); groq.Key(none).Reveal() != "second-key-value" {
		t.Error("it was not replaced")
	}
	if err := paths.ForgetKey(t.Context(), "groq"); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(paths.KeysFile()); err != nil || strings.Contains(string(data), "key-value") {
		t.Errorf("after forgetting: %s, %v", data, err)
	}
	for _, bad := range []string{"", "two words", "line\nbreak", "é", strings.Repeat("k", config.MostKey+1)} {
		if err := paths.KeepKey(t.Context(), groq, none, bad); err == nil || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
}

// TestKeptKeysOfOthers: a file that others may read or write, or that is not a file, is not used; the error
// says so, and holds nothing of it. Settings and the environment still work.
func TestKeptKeysOfOthers(t *testing.T) {
	paths, load := keysHome(t, "")
	none := env(nil)
	groq, _ := load(nil).Provider("groq", none)
	if err := paths.KeepKey(t.Context(), groq, none, "kept-key-value"); err != nil {
		t.Fatal(err)
	}
	refused := func(why string) {
		t.Helper()
		p, _ := load(nil).Provider("groq", none)
		words := strings.Join(p.KeyHints(none, "f"), "\n")
		if p.Key(none).Reveal() != "" || !strings.Contains(words, why) || strings.Contains(words, "key-value") {
			t.Errorf("%s: %q, %s", why, p.Key(none).Reveal(), words)
		}
		if err := paths.KeepKey(t.Context(), groq, none, "another-key-value"); err == nil {
			t.Errorf("%s: a key is added to it", why)
		}
		set := env(map[string]string{"GROQ_API_KEY": "from-environment"})
		if p.Key(set).Reveal() != "from-environment" {
			t.Errorf("%s: the environment does not work", why)
		}
	}
	for _, mode := range []os.FileMode{0o644, 0o640, 0o602, 0o606} {
		if err := os.Chmod(paths.KeysFile(), mode); err != nil {
			t.Fatal(err)
		}
		refused(fmt.Sprintf("mode %o", mode))
	}
	if err := os.Chmod(paths.KeysFile(), 0o600); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(paths.KeysFile(), 1234, -1); err != nil {
			t.Fatal(err)
		}
		refused("another user owns this file")
		if err := os.Chown(paths.KeysFile(), 0, -1); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(paths.KeysFile(), []byte(`{"groq": "kept-key-value"`), 0o600); err != nil {
		t.Fatal(err)
	}
	refused("not as codeagent writes it")
	elsewhere := filepath.Join(t.TempDir(), "keys.json")
	if err := os.Rename(paths.KeysFile(), elsewhere); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, paths.KeysFile()); err != nil {
		t.Fatal(err)
	}
	refused("symbolic links are not followed here")
}
