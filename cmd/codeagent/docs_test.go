package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/sandboxcmd"
	"codeagent/config"
	"codeagent/docs"
	"codeagent/exec"
	"codeagent/sandbox"
	"codeagent/tools"

	"github.com/google/go-cmp/cmp"
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

func TestExampleSettings(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	paths, err := config.FindPaths(func(string) string { return "" }, home)
	if err != nil {
		t.Fatal(err)
	}
	if err := paths.Create(); err != nil {
		t.Fatal(err)
	}
	example, err := filepath.Abs(filepath.Join("..", "..", "examples", "config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(t.Context(), config.Sources{File: example, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := config.Policy(c, config.Place{Workspace: t.TempDir(), Home: home, Paths: paths, Files: exec.OS{}}); err != nil {
		t.Error(err)
	}
	if c.Sandbox.Limits.WallSeconds != 600 {
		t.Errorf("it was not read: %+v", c.Sandbox)
	}
}

// TestExecPage: the lines on it, and on that of review, fit the schema, and it names every kind of line and
// item and every exit status.
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
	for _, status := range []int{cli.ExitOK, cli.ExitFailed, cli.ExitUsage, cli.ExitRefused, cli.ExitSignIn, cli.ExitFindings, cli.ExitTimeLimit, sandbox.ExitCannotConfine, cli.ExitHangup, cli.ExitInterrupt, cli.ExitTerminate} {
		if !strings.Contains(text, "\n| "+strconv.Itoa(status)+" | ") {
			t.Errorf("status %d is not in the table", status)
		}
	}
}

// TestSandboxPage: the report on the page could come from the program.
func TestSandboxPage(t *testing.T) {
	t.Parallel()
	blocks := fenced(page(t, "docs/sandbox.md"))
	if len(blocks) != 1 {
		t.Fatalf("%d reports", len(blocks))
	}
	var r sandboxcmd.Report
	dec := json.NewDecoder(strings.NewReader(blocks[0]))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := cli.PrintJSON(&out, r, "  "); err != nil {
		t.Fatal(err)
	}
	var have, want any
	if json.Unmarshal([]byte(blocks[0]), &have) != nil || json.Unmarshal(out.Bytes(), &want) != nil {
		t.Fatal("not JSON")
	}
	if d := cmp.Diff(want, have); d != "" {
		t.Errorf("fields are missing on the page: %s", d)
	}
}

// TestLinks: the targets of links within this repository exist.
func TestLinks(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../*.md")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) < 5 || len(more) < 4 {
		t.Fatalf("pages are missing: %v %v %v", pages, more, err)
	}
	link := regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`)
	for _, name := range append(pages, more...) {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(data), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), m[1])); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestNotice: every linked module is named with its licence.
func TestNotice(t *testing.T) {
	t.Parallel()
	text := page(t, "NOTICE")
	for _, name := range []string{"codeagent", "linux-sandbox-helper"} {
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

// TestToolsAreListed: the page names each tool that can be disabled.
func TestToolsAreListed(t *testing.T) {
	t.Parallel()
	text := page(t, "docs/config.md")
	_, row, found := strings.Cut(text, "`tools.NAME.enabled`")
	row, _, _ = strings.Cut(row, "\n")
	names := tools.All(tools.Options{Workspace: t.TempDir()}).Names()
	if !found || len(names) < 8 {
		t.Fatalf("no such setting, or only the tools %q", names)
	}
	for _, name := range names {
		if !strings.Contains(row, "`"+name+"`") {
			t.Errorf("%s is not named in %q", name, row)
		}
	}
}

// TestErrorsNamePagesThatAreInstalled: no text of the program names a file of docs/, and
// each page that a text names can be shown.
func TestErrorsNamePagesThatAreInstalled(t *testing.T) {
	t.Parallel()
	shown, named := regexp.MustCompile(`docs/\w+\.md`), regexp.MustCompile(`codeagent help ([\w-]+)`)
	pages := 0
	err := filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		files := token.NewFileSet()
		var words scanner.Scanner
		words.Init(files.AddFile(name, -1, len(src)), src, nil, 0)
		for {
			pos, tok, lit := words.Scan()
			if tok == token.EOF {
				return nil
			}
			if tok != token.STRING {
				continue
			}
			if found := shown.FindString(lit); found != "" {
				t.Errorf("%s names %s, which an installed program does not have", files.Position(pos), found)
			}
			for _, m := range named.FindAllStringSubmatch(lit, -1) {
				if pages++; docs.Page(m[1]) == "" {
					t.Errorf("%s names the page %q", files.Position(pos), m[1])
				}
			}
		}
	})
	if err != nil || pages < 5 {
		t.Errorf("%d pages are named, %v", pages, err)
	}
	for _, topic := range docs.Topics() {
		if len(docs.Page(topic)) < 200 {
			t.Errorf("the page %s is %q", topic, docs.Page(topic))
		}
	}
}
