package docs

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLinks: the targets of links within this repository exist.
func TestLinks(t *testing.T) {
	pages, err := filepath.Glob("../*.md")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("*.md")
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

// TestErrorsNamePagesThatAreInstalled: no text of the program names a file of docs/, and
// each page that a text names can be shown.
func TestErrorsNamePagesThatAreInstalled(t *testing.T) {
	shown, named := regexp.MustCompile(`docs/\w+\.md`), regexp.MustCompile(`codeagent help ([\w-]+)`)
	pages := 0
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
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
				if pages++; Page(m[1]) == "" {
					t.Errorf("%s names the page %q", files.Position(pos), m[1])
				}
			}
		}
	})
	if err != nil || pages < 5 {
		t.Errorf("%d pages are named, %v", pages, err)
	}
	for _, topic := range Topics() {
		if len(Page(topic)) < 200 {
			t.Errorf("the page %s is %q", topic, Page(topic))
		}
	}
}
