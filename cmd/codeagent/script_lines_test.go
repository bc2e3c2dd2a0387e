package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/rogpeppe/go-internal/testscript"
)

// schemaOfLines is the schema of `codeagent exec --json`.
var schemaOfLines = sync.OnceValues(func() (*jsonschema.Resolved, error) {
	raw, err := os.ReadFile("../../headless/schema/lines.json")
	if err != nil {
		return nil, err
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		return nil, err
	}
	return schema.Resolve(nil)
})

// fitsSchema checks one line of JSON.
func fitsSchema(line string) error {
	schema, err := schemaOfLines()
	if err != nil {
		return err
	}
	var v map[string]any
	if err = json.Unmarshal([]byte(line), &v); err == nil {
		err = schema.Validate(v)
	}
	if err != nil {
		return fmt.Errorf("this line is not what the schema says: %w: %s", err, line)
	}
	return nil
}

// checkLines checks what a run printed, if it was one with --json. A process that was killed
// may leave its last line unfinished.
func checkLines(t testing.TB, cmd *exec.Cmd, stdout string) {
	t.Helper()
	if !slices.Contains(cmd.Args, "--json") {
		return
	}
	for line := range strings.Lines(stdout) {
		if cmd.ProcessState.ExitCode() == -1 && !strings.HasSuffix(line, "\n") {
			continue
		}
		if err := fitsSchema(line); err != nil {
			t.Error(err)
		}
	}
}

// linesT is the testing.T of scripts. Their log has what each command printed: every line of
// JSON in it must fit the schema, and all that a run with --json printed must be such lines.
type linesT struct{ *testing.T }

func (t linesT) Run(name string, f func(testscript.T)) {
	t.T.Run(name, func(t *testing.T) { f(linesT{t}) })
}

// Verbose keeps the whole log of a script.
func (linesT) Verbose() bool { return true }

var (
	runsJSON = regexp.MustCompile(`^> (?:\[\S+\] *)*(?:! *)?(?:exec|status \d+|open \d+|signal .*?) codeagent (?:exec|review) (?:.* )?--(?:experimental-)?json\b`)
	aCommand = regexp.MustCompile(`^> `)
	looksOK  = regexp.MustCompile(`^\{"type":"(?:thread|turn|item)\.`)
)

func (t linesT) Log(args ...any) {
	t.Helper()
	text := fmt.Sprint(args...)
	all, inStdout, helps := false, false, false
	for line := range strings.Lines(text) {
		switch {
		case aCommand.MatchString(line):
			all, inStdout, helps = runsJSON.MatchString(line), false, strings.Contains(line, "--help")
		case line == "[stdout]\n":
			inStdout = true
		case line == "[stderr]\n":
			inStdout = false
		case looksOK.MatchString(line) || all && inStdout && !helps && strings.TrimSpace(line) != "":
			if err := fitsSchema(line); err != nil {
				t.Error(err)
			}
		}
	}
	t.T.Log(text)
}

// scriptLines checks that a file has lines that fit the schema, and nothing else: lines FILE.
func scriptLines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: lines FILE")
	}
	text := ts.ReadFile(args[0])
	if text == "" {
		ts.Fatalf("%s is empty", args[0])
	}
	for line := range strings.Lines(text) {
		ts.Check(fitsSchema(line))
	}
}
