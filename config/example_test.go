package config_test

import (
	"path/filepath"
	"testing"

	"codeagent/config"
	"codeagent/hostfile"
)

// TestExampleSettings: the settings of examples/ can be read, and make a policy.
func TestExampleSettings(t *testing.T) {
	home := t.TempDir()
	paths, err := config.FindPaths(func(string) string { return "" }, home)
	if err != nil {
		t.Fatal(err)
	}
	if err := paths.Create(); err != nil {
		t.Fatal(err)
	}
	example, err := filepath.Abs(filepath.Join("..", "examples", "config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(t.Context(), config.Sources{File: example, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := config.Policy(c, config.Place{Workspace: t.TempDir(), Home: home, Paths: paths, Files: hostfile.OS{}}); err != nil {
		t.Error(err)
	}
	if c.Sandbox.Limits.WallSeconds != 600 {
		t.Errorf("it was not read: %+v", c.Sandbox)
	}
}
