package servers

import (
	"strings"
	"testing"
	"time"

	"codeagent/config/server"
)

// TestSilentServer: a server that does not answer, and one that does something else, keep no prompts of
// another from appearing, and errors name them.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.Configured = map[string]server.Settings{}
	silent := strings.Replace(answers, `"tools":{}`, `"tools":{},"prompts":{},"resources":{}`, 1) + `
while r; do :; done`
	for name, script := range map[string]string{
		"busy": silent,
		"good": strings.TrimSuffix(strings.Replace(answers, `"tools":{}`, `"tools":{},"prompts":{}`, 1), "\nr") + `
n=3; while r; do n=$((n+1)); echo '{"jsonrpc":"2.0","id":'$n',"result":{"prompts":[{"name":"greet"}]}}'; done`,
		"mute": silent,
		"none": "exit 7",
	} {
		o.Configured[name] = shell(t, script)
	}
	s := Open(t.Context(), o)
	defer s.Close()
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	busy := s.member("busy")
	if err := busy.enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer busy.leave()
	busy.setCalling("1")
	begun := time.Now()
	list, err := s.Prompts(t.Context())
	if len(list) != 1 || list[0].Server != "good" || list[0].Name != "greet" {
		t.Errorf("the prompts are %+v", list)
	}
	if took := time.Since(begun); took > turnTime*2/3 {
		t.Errorf("they took %v", took)
	}
	const (
		ofBusy = "MCP server busy, busy with something else: the server did not answer in time"
		ofMute = "MCP server mute, listing its prompts: the server did not answer in time"
	)
	if err == nil || err.Error() != ofBusy+"\n"+ofMute {
		t.Errorf("the error is %v", err)
	}
	ctx, cancel := Within(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := s.Read(ctx, "mute", "note:1"); err == nil || err.Error() != "MCP server mute, reading note:1: the server did not answer in time" {
		t.Errorf("a resource: %v", err)
	}
	ctx, cancel = Within(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := s.Prompt(ctx, "mute", "greet", nil); err == nil || err.Error() != "MCP server mute, getting the prompt greet: the server did not answer in time" {
		t.Errorf("a prompt: %v", err)
	}
}
