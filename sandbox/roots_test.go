package sandbox_test

import (
	"slices"
	"testing"

	"codeagent/sandbox"
)

// TestRoots: a row is a root of one policy, the origin that it has, and whether its changes are reported.
func TestRoots(t *testing.T) {
	p := sandbox.Policy{
		Write: []sandbox.Root{
			{Path: "/w"}, {Path: "/extra"}, {Path: "/later", Optional: true}, {Path: "/repo/.git/objects", Git: true},
			{Path: "/repo/.git/refs", Git: true}, {Path: "/h/.cache/go-build"}, {Path: "/t"},
		},
		Temp: "/t", SharedTemp: true,
	}
	want := []struct {
		path     string
		origin   sandbox.Origin
		observed bool
	}{
		{"/w", sandbox.FromWorkspace, true}, {"/extra", sandbox.FromSettings, true}, {"/later", sandbox.FromGrant, true},
		{"/repo/.git/objects", sandbox.FromObjects, false}, {"/repo/.git/refs", sandbox.FromGit, true},
		{"/h/.cache/go-build", sandbox.FromCache, false}, {"/t", sandbox.FromTemp, false},
		{"/tmp", sandbox.FromSharedTemp, false}, {"/var/tmp", sandbox.FromSharedTemp, false},
		{"/private/tmp", sandbox.FromSharedTemp, false}, {"/private/var/tmp", sandbox.FromSharedTemp, false},
	}
	got := p.Roots()
	if len(got) != len(want) {
		t.Fatalf("%d roots, want %d: %+v", len(got), len(want), got)
	}
	for i, w := range want {
		if got[i].Path != w.path || got[i].Origin != w.origin || p.Observes(w.path+"/x") != w.observed {
			t.Errorf("%+v, observed %v: want %+v", got[i], p.Observes(w.path+"/x"), w)
		}
	}
	if slices.ContainsFunc(p.Write, func(r sandbox.Root) bool { return r.Origin != "" }) {
		t.Error("the declaration was changed")
	}
	cache := sandbox.WorkspaceWrite("/h/.cache/x")
	if cache.Roots()[0].Origin != sandbox.FromWorkspace || !cache.Observes("/h/.cache/x/a") {
		t.Error("a workspace is never a cache")
	}
}
