package acpcmd

import (
	"context"
	"errors"
	"strings"
	"testing"

	"codeagent/acp"
	"codeagent/agent"
	"codeagent/config/server"
	"codeagent/prompts"

	"github.com/google/go-cmp/cmp"
)

// TestHandedIn: a server of an editor becomes settings that name no variables, and each has a name of its own.
func TestHandedIn(t *testing.T) {
	got, err := handedIn([]acp.ToolServer{
		{Name: "My Files!", Command: "/bin/files", Args: []string{"-v"}, Values: map[string]string{"HOME_OF": "$HOME"}},
		{Name: "my files", URL: "https://example.com/?a=$b", Values: map[string]string{"X-Own": "v"}},
		{Name: "My-Files", Command: "files"},
		{Name: "世界", Command: "files"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"My-Files": "/bin/files", "my-files": "", "My-Files-2": "files", "editor": "files"} {
		one, ok := got[name]
		if !ok || one.Command != want || one.Origin != server.OfEditor {
			t.Errorf("%s: %+v", name, one)
		}
	}
	if diff := cmp.Diff(map[string]string{"HOME_OF": "$$HOME"}, got["My-Files"].Env); diff != "" {
		t.Error(diff)
	}
	if url := got["my-files"].URL; url != "https://example.com/?a=$$b" {
		t.Error(url)
	}
	for name, bad := range map[string]acp.ToolServer{
		"no program":       {Name: "x", Command: " "},
		"no address":       {Name: "x", URL: "ftp://example.com"},
		"no variable":      {Name: "x", Command: "x", Values: map[string]string{"A B": ""}},
		"a header in two":  {Name: "x", URL: "https://example.com", Values: map[string]string{"A": "b\nC: d"}},
		"no header's name": {Name: "x", URL: "https://example.com", Values: map[string]string{"A B": ""}},
	} {
		if _, err := handedIn([]acp.ToolServer{bad}); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// TestStopped: the end of a turn has the word of the protocol.
func TestStopped(t *testing.T) {
	for _, c := range []struct {
		err  error
		want acp.Stop
	}{
		{nil, acp.StopDone}, {agent.ErrStopped, acp.StopCancelled}, {agent.ErrFiltered, acp.StopRefusal},
		{agent.ErrOutOfRequests, acp.StopRequests}, {agent.ErrCutOff, acp.StopTokens}, {agent.ErrOutOfTokens, acp.StopTokens},
	} {
		if got, err := stopped(c.err); got != c.want || err != nil {
			t.Errorf("%v: %s, %v", c.err, got, err)
		}
	}
	if _, err := stopped(errors.New("broken")); err == nil {
		t.Error("a turn that failed has no error")
	}
}

// TestCommands: builtin commands come first and keep their names, then the user's.
func TestCommands(t *testing.T) {
	o := &open{own: []prompts.Own{{Name: "status"}, {Name: "fix", About: "mine"}}}
	var names []string
	seen := map[string]acp.Command{}
	for _, c := range o.Commands() {
		if _, twice := seen[c.Name]; twice {
			t.Errorf("%s is there twice", c.Name)
		}
		names, seen[c.Name] = append(names, c.Name), c
	}
	n := len(builtin())
	if diff := cmp.Diff([]string{"fix"}, names[n:]); diff != "" || names[0] != "status" {
		t.Errorf("%v %s", names, diff)
	}
}

// TestCalled: a text that only begins like a command is a message, and what is attached is no argument.
func TestCalled(t *testing.T) {
	o := &open{}
	for typed, want := range map[string]bool{
		"/init": true, " /init ": true, "/init now": false, "/tmp is full": false, "init": false, "/": false, "/mcp:none": false,
	} {
		if _, ok, err := o.called(context.Background(), acp.Message{Typed: typed}); ok != want || err != nil {
			t.Errorf("%q: %v, %v", typed, ok, err)
		}
	}
	r, ok, err := o.called(context.Background(), acp.Message{Typed: "/init", Attached: "@/src/x.go"})
	if !ok || err != nil || r.message.Text != prompts.Init().Text+"\n@/src/x.go" {
		t.Errorf("%+v, %v, %v", r, ok, err)
	}
	if _, _, err := o.called(context.Background(), acp.Message{Typed: "/plan"}); err == nil || !strings.Contains(err.Error(), "needs a task") {
		t.Error(err)
	}
	if _, _, err := o.called(context.Background(), acp.Message{Typed: "/undo"}); err == nil || !strings.Contains(err.Error(), "not recorded") {
		t.Error(err)
	}
}
