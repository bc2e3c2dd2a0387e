package main

import (
	"debug/buildinfo"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// Tests of this project's pages and examples against the program.

func page(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// fenced returns the ```json blocks of a page.
func fenced(page string) []string {
	var out []string
	for _, m := range regexp.MustCompile("(?ms)^```json\n(.*?)^```").FindAllStringSubmatch(page, -1) {
		out = append(out, m[1])
	}
	return out
}

// TestExecPage: the lines on it, and on that of review, fit the schema, and it names every kind of line and
// item.
func TestExecPage(t *testing.T) {
	t.Parallel()
	text := page(t, "docs/exec.md")
	raw := page(t, "headless/schema/lines.json")
	var schema jsonschema.Schema
	if err := json.Unmarshal([]byte(raw), &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	blocks := append(fenced(text), fenced(page(t, "docs/review.md"))...)
	if len(blocks) != 2 {
		t.Fatalf("%d recorded runs", len(blocks))
	}
	for line := range strings.Lines(strings.Join(blocks, "")) {
		var v any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if err := resolved.Validate(v); err != nil {
			t.Errorf("%v: %s", err, line)
		}
	}
	for _, of := range []*jsonschema.Schema{schema.Properties["type"], schema.Properties["item"].Properties["type"]} {
		for _, name := range of.Enum {
			if !strings.Contains(text, "`"+name.(string)+"`") {
				t.Errorf("%v is not on the page", name)
			}
		}
	}
}

// TestNotice: every linked module is named with its licence.
func TestNotice(t *testing.T) {
	t.Parallel()
	text := page(t, "NOTICE")
	for _, name := range []string{"codeagent", "linux-sandbox-helper", "codeagent-extra"} {
		info, err := buildinfo.ReadFile(filepath.Join(programs(t), name))
		if err != nil {
			t.Fatal(err)
		}
		if len(info.Deps) == 0 {
			t.Errorf("%s names no modules", name)
		}
		for _, dep := range info.Deps {
			if !strings.Contains(text, "  "+dep.Path+" ") && !strings.Contains(text, "  "+dep.Path+"\n") {
				t.Errorf("%s is linked into %s and not in NOTICE", dep.Path, name)
			}
		}
	}
}
