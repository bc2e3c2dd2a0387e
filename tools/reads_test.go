package tools

import (
	"slices"
	"strings"
	"testing"

	"codeagent/event/word"
	"codeagent/model"
)

// Only reads of exactly these tools run before they are complete, and every argument that
// changes the result changes Reads.
func TestWhatReads(t *testing.T) {
	p := newPlace(t, map[string]string{"a.txt": "a\n", "sub/b.txt": "b\n"})
	p.withJobs()
	p.ok("shell", args{"command": "cat", "background": true, "yield_time_ms": 1})
	var reads []string
	for tool, a := range everyCall {
		c, err := p.plan(tool, a)
		if err != nil {
			t.Fatal(err)
		}
		if says := c.Reads(); (says != "") != All(p.options).Reads(tool) {
			t.Errorf("%s: reads %q", tool, says)
		}
		if All(p.options).Reads(tool) {
			reads = append(reads, tool)
			if kind := c.Action().Kind; kind != word.KindRead {
				t.Errorf("%s is of the kind %s", tool, kind)
			}
		}
	}
	slices.Sort(reads)
	if got := strings.Join(reads, " "); got != "list_files read_file search" {
		t.Errorf("reading tools are %s", got)
	}
	off := p.options
	off.Disabled = map[string]bool{"search": true}
	for _, name := range []string{"search", "no_such"} {
		if All(off).Reads(name) {
			t.Errorf("%s reads, but it is switched off or does not exist", name)
		}
	}
	for tool, c := range map[string]struct{ same, other []string }{
		"read_file":  {[]string{`{"path":"a.txt"}`, `{"path":"./a.txt","offset":1}`, `{"offset":0,"limit":2000,"path":"a.txt"}`}, []string{`{"path":"sub"}`, `{"path":"a.txt","offset":2}`, `{"path":"a.txt","limit":1}`}},
		"list_files": {[]string{`{}`, `{"path":"."}`, `{"depth":2}`}, []string{`{"path":"sub"}`, `{"depth":1}`, `{"glob":"*.go"}`}},
		"search": {[]string{`{"pattern":"a"}`, `{"pattern":"a","path":".","max":200}`, `{"pattern":"a","ignore_case":false}`},
			[]string{`{"pattern":"b"}`, `{"pattern":"a","path":"sub"}`, `{"pattern":"a","glob":"*.go"}`, `{"pattern":"a","max":1}`, `{"pattern":"a","ignore_case":true}`}},
	} {
		said := map[string]int{}
		for _, arguments := range append(c.same, c.other...) {
			planned, err := All(p.options).Plan(model.ToolCall{ID: "c", Name: tool, Arguments: arguments})
			if err != nil {
				t.Fatal(err)
			}
			said[planned.Reads()]++
		}
		if len(said) != 1+len(c.other) {
			t.Errorf("%s: %v", tool, said)
		}
	}
}
