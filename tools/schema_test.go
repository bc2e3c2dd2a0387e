package tools

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"codeagent/event"
	"codeagent/event/word"
)

var update = flag.Bool("update", false, "rewrite the golden files and the schemas")

// argumentTypes are the types from which the schemas are generated. The schemas are committed
// and embedded: reflecting over six types costs 2 ms at every start, and the program need not
// link the generator.
var argumentTypes = map[string]any{
	"shell":       shellArguments{},
	"apply_patch": applyPatchArguments{},
	"read_file":   readFileArguments{},
	"view_image":  viewImageArguments{},
	"list_files":  listFilesArguments{},
	"search":      searchArguments{},
	"update_plan": updatePlanArguments{},
	"ask_user":    askUserArguments{},
	"fetch_url":   fetchURLArguments{},
	"write_stdin": writeStdinArguments{},
	"background":  backgroundArguments{},
	"delegate":    delegateArguments{},
	"keep_draft":  keepDraftArguments{},

	"report_findings": reportFindingsArguments{},
}

// every is the options with which every tool is offered.
var every = Options{Helpers: true, Findings: func([]event.Finding) {}}

// TestPageNamesTools: the page of settings names each tool of a session, which a user may hide.
func TestPageNamesTools(t *testing.T) {
	page, err := os.ReadFile("../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(page), "hides the tool NAME")
	line, _, _ = strings.Cut(line, "\n")
	for _, spec := range All(Options{}).Specs() {
		if !strings.Contains(line, "`"+spec.Name+"`") {
			t.Errorf("tools.NAME.enabled in config/settings.go does not name %s", spec.Name)
		}
	}
}

// enums are the values of arguments with few values.
var enums = map[string][]any{
	"sandbox_permissions": {useDefault, withAdditional, requireEscalated},
	"action":              {listAction, killAction},
	"status":              {word.StepPending, word.StepInProgress, word.StepCompleted},
	"kind":                {"explore", "review", "search", "change"},
	"severity":            {"critical", "high", "medium", "low"},
}

// minimums keep counts sensible.
var minimums = map[string]float64{"timeout_ms": 1, "yield_time_ms": 1, "session_id": 1, "offset": 1, "limit": 1, "depth": 1, "max": 1}

func generate(t *testing.T, v any) []byte {
	t.Helper()
	s, err := jsonschema.ForType(reflect.TypeOf(v), nil)
	if err != nil {
		t.Fatal(err)
	}
	hide(s, reflect.TypeOf(v))
	tidy(s, "")
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(data, '\n')
}

// hide removes arguments that are accepted but not offered.
func hide(s *jsonschema.Schema, t reflect.Type) {
	for i := range t.NumField() {
		if _, hidden := t.Field(i).Tag.Lookup("hidden"); hidden {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			delete(s.Properties, name)
		}
	}
}

// tidy sets what the generator leaves loose: pointers and slices are nullable
// there, and an optional argument is simply left out here.
func tidy(s *jsonschema.Schema, name string) {
	for _, kind := range s.Types {
		if kind != "null" {
			s.Type = kind
		}
	}
	s.Types = nil
	s.Enum = enums[name]
	if m, ok := minimums[name]; ok {
		s.Minimum = &m
	}
	if s.Items != nil {
		tidy(s.Items, "")
	}
	for name, p := range s.Properties {
		tidy(p, name)
	}
}

func TestSchemasAreGenerated(t *testing.T) {
	for name, v := range argumentTypes {
		want := generate(t, v)
		file := filepath.Join("schema", name+".json")
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s differs from its type (run with -update): %s", file, diff)
		}
	}
}

// Every object is closed, lists its required members, and has no nullable type: strict
// providers refuse other schemas.
func TestSchemasAreStrict(t *testing.T) {
	for _, spec := range All(every).Specs() {
		var s any
		if err := json.Unmarshal(spec.Schema, &s); err != nil {
			t.Fatalf("%s: %v", spec.Name, err)
		}
		checkStrict(t, spec.Name, s)
	}
}

func checkStrict(t *testing.T, at string, v any) {
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	if m["type"] == "object" {
		if closed, ok := m["additionalProperties"].(bool); !ok || closed {
			t.Errorf("%s: additionalProperties is %v, want false", at, m["additionalProperties"])
		}
	}
	if kind, ok := m["type"]; ok {
		if _, ok := kind.(string); !ok {
			t.Errorf("%s has the type %v", at, kind)
		}
	}
	properties, _ := m["properties"].(map[string]any)
	for name, p := range properties {
		if d, _ := p.(map[string]any)["description"].(string); d == "" {
			t.Errorf("%s.%s has no description", at, name)
		}
		checkStrict(t, at+"."+name, p)
	}
	checkStrict(t, at+"[]", m["items"])
}

// The complete description of the tools that the model reads.
func TestSpecsGolden(t *testing.T) {
	var b bytes.Buffer
	for _, s := range All(every).Specs() {
		fmt.Fprintf(&b, "# %s\n%s\n\n%s\n", s.Name, s.Description, s.Schema)
	}
	golden(t, "specs.txt", b.Bytes())
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
}

// BenchmarkStart is what every start of codeagent pays for its tools.
func BenchmarkStart(b *testing.B) {
	for range b.N {
		if len(All(every).Specs()) != len(argumentTypes) {
			b.Fatal("a tool is missing")
		}
	}
}

// TestWithoutEscalation: a model that may not ask for running outside the sandbox sees no text
// about it. The other tools are unchanged.
func TestWithoutEscalation(t *testing.T) {
	may := true
	set := All(Options{Outside: func() bool { return may }})
	full := set.Specs()
	may = false
	for i, spec := range set.Specs() {
		text := spec.Description + string(spec.Schema)
		if strings.Contains(text, "escalat") || strings.Contains(text, "outside the sandbox") || !json.Valid(spec.Schema) {
			t.Errorf("%s: %s", spec.Name, text)
		}
		if changed := text != full[i].Description+string(full[i].Schema); changed != (spec.Name == "shell") {
			t.Errorf("%s: changed %v", spec.Name, changed)
		}
	}
}
