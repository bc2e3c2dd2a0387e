package sandbox_test

import (
	"testing"

	"codeagent/sandbox"
)

func TestKeeps(t *testing.T) {
	p := sandbox.WorkspaceWrite("/home/u/.cache/ws", "/srv/more", "/home/u/.cache/go-build", "/home/u/.cache/ws/.cache/own/deep", "/tmp/private/ws")
	p.Temp, p.SharedTemp = "/tmp/private", true
	for _, part := range []string{"objects", "refs"} {
		p.Write = append(p.Write, sandbox.Root{Path: "/srv/repo/.git/" + part, Git: true})
	}
	strict := sandbox.Strict("/ws", "/tmp/private")
	strict.Temp = "/tmp/private"
	for path, want := range map[string]bool{
		"/home/u/.cache/ws":                 true,
		"/home/u/.cache/ws/a":               true,
		"/home/u/.cache/ws/.cache/own/a":    true,
		"/home/u/.cache/ws/.cache/own/deep": false,
		"/home/u/.cache/wst":                false,
		"/srv/more":                         true,
		"/srv/more/.cache/x/a":              true,
		"/srv":                              false,
		"/srv/repo/.git/objects/aa/b":       false,
		"/srv/repo/.git/refs/heads/x":       true,
		"/home/u/.cache/go-build/0a/x":      false,
		"/tmp/private/x":                    false,
		"/tmp/private/ws/x":                 true,
		"/tmp/x":                            false,
		"":                                  false,
	} {
		if got := p.Observes(path); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
		if strict.Observes(path) {
			t.Errorf("%s: told, and it lies in no folder but the one for temporary files", path)
		}
	}
	if sandbox.ReadOnly().Observes("/ws/a") {
		t.Error("nothing is writable, and something is reported")
	}
}
