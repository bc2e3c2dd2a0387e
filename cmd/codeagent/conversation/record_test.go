package conversation

import (
	"slices"
	"testing"

	"codeagent/event"
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
	}, tools.All(tools.Options{Workspace: "/w", Files: exec.OS{}}), []model.Item{
		{Kind: model.User, Text: "build it"}, call("a"), call("b"), call("c"), {Kind: model.Result, CallID: "b", Text: "done"},
	})
	want := []string{"a $ make", "b $ make", "c $ make", "b $ make: ok", "a $ make: interrupted", "c $ make: interrupted"}
	if !slices.Equal(got, want) {
		t.Errorf("told\n%q, want\n%q", got, want)
	}
}
