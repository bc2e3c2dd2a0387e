package conversation

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/exec"
	"codeagent/model"
	"codeagent/tools"
)

// TestReplayOfACallWithoutAResult: codeagent was killed during the call. After a resume the
// screen shows no running call.
func TestReplayOfACallWithoutAResult(t *testing.T) {
	call := func(id string) model.Item {
		return model.Item{Kind: model.Call, Call: &model.ToolCall{ID: id, Name: "shell", Arguments: `{"command":"make"}`}}
	}
	var got []string
	replay(func(e event.Event) {
		switch e := e.(type) {
		case event.ToolStarted:
			got = append(got, e.CallID+" "+e.Title)
		case event.ToolFinished:
			got = append(got, e.CallID+" "+e.Title+": "+string(e.Outcome))
		}
	}, tools.All(tools.Options{Workspace: "/w", Files: exec.OS{}}), slices.Values([]model.Item{
		{Kind: model.User, Text: "build it"}, call("a"), call("b"), call("c"), {Kind: model.Result, CallID: "b", Text: "done"},
	}))
	want := []string{"a $ make", "b $ make", "c $ make", "b $ make: ok", "a $ make: interrupted", "c $ make: interrupted"}
	if !slices.Equal(got, want) {
		t.Errorf("told\n%q, want\n%q", got, want)
	}
}

// TestReplayOfAServerCall: after a resume a call of a server is shown as one, also where the server
// does not run.
func TestReplayOfAServerCall(t *testing.T) {
	var got []event.Event
	replay(func(e event.Event) { got = append(got, e) }, tools.All(tools.Options{Workspace: "/w", Files: exec.OS{}}), slices.Values([]model.Item{
		{Kind: model.Call, Call: &model.ToolCall{ID: "a", Name: "files__read_\u202e", Arguments: `{"path":"x"}`}},
		{Kind: model.Result, CallID: "a", Text: "words"},
	}))
	want := []event.Event{
		event.ToolStarted{CallID: "a", Tool: "files__read_\u202e", Kind: word.KindServer, Title: "files: read_<U+202E>", Server: &event.ServerCall{Server: "files", Tool: "read_\u202e", Arguments: `{"path":"x"}`}},
		event.ToolFinished{CallID: "a", Tool: "files__read_\u202e", Kind: word.KindServer, Title: "files: read_<U+202E>", Outcome: word.OK, Output: "words"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
