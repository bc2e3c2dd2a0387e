package modeltest

import (
	"strings"
	"testing"

	"codeagent/internal/scripted"
	"codeagent/model"
)

// foreignCallIDs continues a conversation whose call ids come from other providers, which
// strict providers refuse.
func foreignCallIDs(t *testing.T, w Wire, build Build) {
	srv := serve(t, scripted.Always(scripted.Reply{Text: "ok"}))
	long := strings.Repeat("x", 100)
	var a Answer
	for _, id := range []string{"functions.shell:0", "functions.shell:0 " + long, long, "ü", "call_1"} {
		call := model.ToolCall{ID: id, Name: "shell", Arguments: "{}"}
		a.Calls = append(a.Calls, call)
		a.Items = append(a.Items, model.Item{Kind: model.Call, Call: &call})
	}
	w.accepts(t, build(t, srv.URL, 0), srv, a)
	if body := string(srv.Requests()[0].Body); strings.Contains(body, "interrupted") || strings.Contains(body, "no longer part") {
		t.Errorf("a result is not that of its call: %s", body)
	}
}
