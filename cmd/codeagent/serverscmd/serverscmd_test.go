package serverscmd

import (
	"strings"
	"testing"

	"codeagent/cmd/codeagent/cli"
	"codeagent/config/server"
	"codeagent/internal/mask"
	"codeagent/sandbox"

	"github.com/google/go-cmp/cmp"
)

// TestComplete: the flags become settings, and what cannot be one is said by its flag.
func TestComplete(t *testing.T) {
	s := cli.Stdio{Environ: []string{"OTHER_TOKEN=abcdefgh12345", "SHORT_KEY=abc"}}
	for name, c := range map[string]struct {
		flags addFlags
		want  string // of the error; "": none
	}{
		"a program":          {addFlags{settings: server.Settings{Command: "npx"}, env: []string{"A=b=c", "KEY=$KEY"}}, ""},
		"nothing to start":   {addFlags{}, "a server has a COMMAND"},
		"both":               {addFlags{settings: server.Settings{Command: "npx", URL: "https://example.com"}}, "not both"},
		"no name":            {addFlags{settings: server.Settings{Command: "npx"}, env: []string{"=x"}}, `--env "": want NAME=VALUE`},
		"no value":           {addFlags{settings: server.Settings{URL: "https://example.com"}, headers: []string{"X"}}, `--header "X": want 'NAME: VALUE'`},
		"a variable's value": {addFlags{settings: server.Settings{Command: "npx"}, env: []string{"A=abcdefgh12345"}}, "the value of your variable OTHER_TOKEN"},
		"a short value":      {addFlags{settings: server.Settings{Command: "npx"}, env: []string{"A=abc"}}, ""},
		"a key by its name":  {addFlags{settings: server.Settings{Command: "npx"}, env: []string{"API_KEY=s3cret-value"}}, "this looks like a key"},
		"a path of a key":    {addFlags{settings: server.Settings{Command: "npx"}, env: []string{"API_KEY=/etc/key"}}, ""},
	} {
		_, err := c.flags.complete(s)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "abcdefgh") {
			t.Errorf("%s: the error shows a key: %v", name, err)
		}
	}
}

// TestEntry: the list names variables and headers, and shows no value and no key.
func TestEntry(t *testing.T) {
	local := entryOf("x", server.Settings{Command: "npx", Args: []string{"--api-key", "s3cret-value-0123456789", "$KEY"}, Env: map[string]string{"B": "1", "A": "2"}, Origin: server.OfUser})
	if diff := cmp.Diff([]string{"npx", "--api-key", mask.Mark, "$KEY"}, local.Command); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"A", "B"}, local.Env); diff != "" || local.Origin != "settings" || local.Sandbox == nil {
		t.Errorf("%s %+v", diff, local)
	}
	remote := entryOf("y", server.Settings{URL: "https://example.com/", Headers: map[string]string{"X-Own": "1"}, Origin: server.OfProject})
	key, value := remote.shown()
	if key != "url" || value != "https://example.com/" || remote.Sandbox != nil || len(remote.Headers) != 1 {
		t.Errorf("%s %s %+v", key, value, remote)
	}
	shown := serverList{Servers: []entry{local, remote}}.text(map[string]string{"x": "reads the workspace"})
	for _, want := range []string{"sandbox  reads the workspace", "sandbox  none: it runs elsewhere", "env      A, B", "(.mcp.json, trusted"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%s\nlacks %q", shown, want)
		}
	}
}

// TestReport: the text for people shows what a terminal would obey by name.
func TestReport(t *testing.T) {
	report := testReport{
		entry: entry{Name: "x", Command: []string{"npx"}}, State: "running", Protocol: "2025-11-25", TookMS: 20, Instructions: "one\x1b[2J\ntwo",
		Tools:     []testedTool{{Name: "a", Description: "first\nsecond", ReadOnly: true}, {Name: "b", Destructive: true}},
		Resources: []testedName{{"file:///x", ""}}, Warnings: []string{"w"},
		Refused: []sandbox.Denial{{Kind: sandbox.KindWrite, Target: "/etc/x"}},
	}.text()
	for _, want := range []string{"x: running\n", "started in 20ms", "a (claims to only read): first\n", "b (no claim)", "    file:///x\n", "| one␛[2J", "⊘", "mcp learn x", "warning      w"} {
		if !strings.Contains(report, want) {
			t.Errorf("%s\nlacks %q", report, want)
		}
	}
}

// TestUnknown: for an unknown name, the message offers the nearest name of a server.
func TestUnknown(t *testing.T) {
	if err := unknown("flies", []string{"files", "web"}); !strings.Contains(err.Error(), `did you mean "files"?`) {
		t.Error(err)
	}
}
