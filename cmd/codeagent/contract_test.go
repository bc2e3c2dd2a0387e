package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"codeagent/internal/machine"
)

// contractSample is the part of the contract's scripts that runs without CI=true: every n-th.
const contractSample = 8

// TestContract holds `codeagent exec` to docs/exec.md: each script of testdata/contract quotes
// in its first line the sentence that it tests. They run the built programs.
func TestContract(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/contract/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files = sampled(files, machine.Sample(t, contractSample))
	files = slices.DeleteFunc(files, func(file string) bool { return cannotMount(t, file) })
	bin := programs(t)
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	runScripts(t, testscript.Params{Files: files, Setup: func(env *testscript.Env) error {
		env.Setenv("BIN", bin)
		env.Setenv("EXAMPLES", examples)
		env.Setenv("PATH", bin+string(os.PathListSeparator)+env.Getenv("PATH"))
		return nil
	}})
}

// sampled are the rows of a sample.
func sampled[T any](all []T, sample machine.Rows) (rows []T) {
	for i, row := range all {
		if sample.Has(i) {
			rows = append(rows, row)
		}
	}
	return rows
}

// cannotMount reports whether a script needs a mount of its own, and the machine allows none.
func cannotMount(t *testing.T, file string) bool {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	own := machine.Program("a small file system of its own for "+filepath.Base(file), "unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt")
	return bytes.Contains(text, []byte("exec unshare -rm")) && !own.Works(t)
}

// heldElsewhere are the beginnings of sentences that no script can hold, with the test that does.
var heldElsewhere = map[string]string{
	"Ctrl+V on the screen takes":  "TestClipboardOnTheScreen",
	"Unknown fields may be added": "headless: TestLinesAreGoldenAndFitTheSchema",
	"A recorded run, shortened":   "TestExecPage",
}

// TestContractIsWhole: each sentence of the page is quoted by a script, in whole or in part, or held by
// the named test; and each quoted sentence is on the page.
func TestContractIsWhole(t *testing.T) {
	t.Parallel()
	sentences := sentencesOf(page(t, "docs/exec.md"))
	held := make([]bool, len(sentences))
	files, err := filepath.Glob("testdata/contract/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		script, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		quote := quoted(string(script))
		if quote == "" {
			t.Errorf("%s does not begin with a comment that quotes a sentence", name)
			continue
		}
		found := false
		for i, s := range sentences {
			if strings.Contains(s, quote) {
				found, held[i] = true, true
			}
		}
		if !found {
			t.Errorf("%s quotes what docs/exec.md does not say: %s", name, quote)
		}
	}
	for begins, test := range heldElsewhere {
		i := slices.IndexFunc(sentences, func(s string) bool { return strings.HasPrefix(s, begins) })
		if i < 0 {
			t.Errorf("%s holds what docs/exec.md does not say: %s", test, begins)
			continue
		}
		held[i] = true
		if !testExists(t, test) {
			t.Errorf("%q is held by %s, which does not exist", begins, test)
		}
	}
	for i, s := range sentences {
		if !held[i] {
			t.Errorf("docs/exec.md promises what no script of testdata/contract tries: %s", s)
		}
	}
	if len(sentences) < 90 || len(files) < 50 {
		t.Errorf("only %d sentences and %d scripts", len(sentences), len(files))
	}
}

// testExists reports whether a package has the test that name says: "TestX" is of this one,
// "folder: TestX" of another.
func testExists(t *testing.T, name string) bool {
	t.Helper()
	folder, test, elsewhere := strings.Cut(name, ": ")
	if !elsewhere {
		folder, test = "cmd/codeagent", name
	}
	files, err := filepath.Glob("../../" + folder + "/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), "\nfunc "+test+"(t *testing.T)")
	})
}

// quoted returns the comment that a script begins with, as one line.
func quoted(script string) string {
	var words []string
	for line := range strings.Lines(script) {
		comment, ok := strings.CutPrefix(line, "#")
		if !ok {
			break
		}
		words = append(words, strings.Fields(comment)...)
	}
	return strings.Join(words, " ")
}

var (
	fences   = regexp.MustCompile("(?ms)^```.*?^```\n")
	links    = regexp.MustCompile(`\[([^\]]+)\]\([^)]*\)`)
	sentence = regexp.MustCompile(`[.!?] +[A-Z` + "`" + `]`)
)

// sentencesOf returns the sentences of a page. The row of a table is one sentence, its cells
// joined by colons. Links are their words, and code blocks are left out.
func sentencesOf(page string) []string {
	page = links.ReplaceAllString(fences.ReplaceAllString(page, "\n"), "$1")
	var out []string
	for block := range strings.SplitSeq(page, "\n\n") {
		text := ""
		for line := range strings.Lines(block) {
			line = strings.TrimSpace(line)
			row, isRow := strings.CutPrefix(line, "| ")
			switch {
			case line == "" || strings.HasPrefix(line, "#"):
			case isRow:
				cells := strings.TrimSpace(strings.ReplaceAll(strings.TrimSuffix(row, "|"), " | ", ": "))
				out = append(out, strings.TrimSuffix(cells, ":"))
			case strings.HasPrefix(line, "|--"):
				out = out[:len(out)-1] // the head of a table
			default:
				text += " " + strings.TrimPrefix(line, "- ")
			}
		}
		text = strings.Join(strings.Fields(text), " ")
		for text != "" {
			at := sentence.FindStringIndex(text)
			if at == nil {
				out = append(out, text)
				break
			}
			out = append(out, text[:at[0]+1])
			text = text[at[1]-1:]
		}
	}
	return out
}
