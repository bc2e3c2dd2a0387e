package config_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codeagent/config"
)

const withProfiles = `model = "file"
reasoning_effort = "low"
[sandbox]
mode = "strict"
add_dirs = ["/file"]
[profiles.ci]
model = "profile"
sandbox = { mode = "read-only", add_dirs = ["/profile"] }
[profiles.ci.tools.search]
enabled = false
[profiles.other]
model = "other"
`

// TestProfile: a chosen profile is above the file and the environment, and below -c and
// flags.
func TestProfile(t *testing.T) {
	for name, c := range map[string]struct {
		profile, model, mode string
		dirs                 []string
		overrides            []string
		flags                []config.Flag
	}{
		"none":           {"", "environment", "strict", []string{"/file"}, nil, nil},
		"chosen":         {"ci", "profile", "read-only", []string{"/profile"}, nil, nil},
		"another":        {"other", "other", "strict", []string{"/file"}, nil, nil},
		"-c is above it": {"ci", "c", "read-only", []string{"/profile"}, []string{"model=c"}, nil},
		"flags are too": {"ci", "profile", "workspace-write", []string{"/profile", "/flag"}, nil, []config.Flag{
			{Name: "--sandbox", Key: "sandbox.mode", Values: []string{"workspace-write"}}, {Name: "--add-dir", Key: "sandbox.add_dirs", Values: []string{"/flag"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := load(t, withProfiles, config.Sources{Profile: c.profile, Overrides: c.overrides, Flags: c.flags, Getenv: env(map[string]string{"OPENAI_MODEL": "environment"})})
			if err != nil {
				t.Fatal(err)
			}
			if got.Model != c.model || got.Sandbox.Mode != c.mode || !slices.Equal(got.Sandbox.AddDirs, c.dirs) || got.ReasoningEffort != "low" {
				t.Errorf("model %q, mode %q, dirs %q, effort %q", got.Model, got.Sandbox.Mode, got.Sandbox.AddDirs, got.ReasoningEffort)
			}
			if got.DisabledTools()["search"] != (c.profile == "ci") {
				t.Errorf("disabled tools: %v", got.DisabledTools())
			}
		})
	}
	c, err := load(t, withProfiles, config.Sources{Profile: "ci"})
	if err != nil {
		t.Fatal(err)
	}
	if at := c.Origin("sandbox.mode").String(); !strings.HasSuffix(at, "config.toml:8:13") || !c.Asked() {
		t.Errorf("sandbox.mode comes from %s; asked: %v", at, c.Asked())
	}
}

// TestProfileErrors: each profile is checked, with its place, and a chosen one must exist.
func TestProfileErrors(t *testing.T) {
	for _, c := range []struct{ file, profile, want string }{
		{"[profiles.a]\nmodell = \"x\"\n", "", `config.toml:2:1: unknown setting "modell" (did you mean "model"?)`},
		{"[profiles.a.sandbox]\nmode = \"open\"\n", "b", `config.toml:2:1: sandbox.mode: invalid value "open"`},
		{"[profiles.a]\nsandbox.allow_home = true\n", "a", "not allowed in a file"},
		{"[profiles.a.profiles.b]\nmodel = \"x\"\n", "a", `unknown setting "profiles"`},
		{"profiles = 3\n", "", "config.toml:1:1: profiles is a table"},
		{"[profiles]\nmodel = \"x\"\n", "", "config.toml:2:1: profiles.model is a table"},
		{"[profiles.a]\n[profiles.b]\n", "c", `--profile: no [profiles."c"] in `},
		{"[profiles.a]\n[profiles.b]\n", "c", `it has "a, b"`},
		{"", "c", "it has none"},
		{"x =", "c", "not valid TOML"},
	} {
		src := config.Sources{Profile: c.profile, Getenv: env(map[string]string{"OPENAI_MODEL": "m"}), File: filepath.Join(t.TempDir(), "absent.toml")}
		_, err := load(t, c.file, src)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), "\n") > 0 {
			t.Errorf("%q with profile %q: %v, want one line with %q", c.file, c.profile, err, c.want)
		}
	}
}
