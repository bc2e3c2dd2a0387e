package config_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"codeagent/config"
)

// TestCommon: the settings of the list have values that the file takes, and full access is not one to choose.
func TestCommon(t *testing.T) {
	c, err := config.Load(context.Background(), config.Sources{Getenv: env(nil), Overrides: []string{"tui.vim=true"}})
	if err != nil {
		t.Fatal(err)
	}
	list := c.Common()
	if n := len(list); n < 10 || n > 16 || !slices.ContainsFunc(list, func(s config.Common) bool { return s.Key == "web_search" }) {
		t.Errorf("%d settings", n)
	}
	for _, s := range list {
		if s.Doc == "" || strings.Contains(s.Doc, "](") || slices.Contains(s.Choices, config.FullAccess) {
			t.Errorf("%+v", s)
		}
		for _, v := range append(s.Choices, s.Value) {
			if v == "" && s.Key == "model" {
				continue
			}
			if got, err := config.Parse(s.Key, v); err != nil || fmt.Sprint(got) != v {
				t.Errorf("%s: %q is %v, %v", s.Key, v, got, err)
			}
		}
		if s.Key == "tui.vim" && (s.Value != "true" || s.Origin.InFile()) {
			t.Errorf("%+v", s)
		}
	}
	for key, bad := range map[string]string{"context.compact_at": "96", "tui.mouse": "perhaps", "undo.unkept": "never", "nothing": "x"} {
		if v, err := config.Parse(key, bad); err == nil {
			t.Errorf("%s takes %q as %v", key, bad, v)
		}
	}
}
