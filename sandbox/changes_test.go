package sandbox_test

import (
	"fmt"
	"strings"
	"testing"

	"codeagent/sandbox"
)

func TestChanges(t *testing.T) {
	changes := func(list ...string) (c sandbox.Changes) {
		for _, one := range list {
			kind, path, _ := strings.Cut(one, " ")
			c.Add(sandbox.Change{Path: path, Kind: sandbox.ChangeKind(kind)})
		}
		return c
	}
	for _, tt := range []struct {
		c    sandbox.Changes
		most int
		want string
	}{
		{changes(), 9, ""},
		{changes("update /w/a", "add /w/d/", "delete /w/b", "update /out/x"), 9, "a, d/ (new), b (deleted), /out/x"},
		{changes("update /w/a", "add /w/d/", "delete /w/b"), 1, "a and 2 more"},
		{changes("update /w/", "update /wide"), 9, "/w/, /wide"},
		{changes("add /w/a", "update /w/a", "add /w/b", "delete /w/b", "delete /w/c", "add /w/c"), 9, "a (new), c"},
		{changes("add /w/d/", "update /w/d/x", "add /w/d-", "delete /w/d/", "add /w/e/x", "delete /w/f", "add /w/f/", "delete /w/e/"), 9, "d- (new), f (deleted), f/ (new), e/ (deleted)"},
		{sandbox.Changes{More: 3}, 9, "3 more"},
		{sandbox.Changes{List: []sandbox.Change{{Path: "/w/a", Kind: sandbox.Updated}}, More: 3, Partial: true}, 9, "a and 3 more and what could not be noted"},
	} {
		if got := tt.c.Words("/w", tt.most); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.c, got, tt.want)
		}
		if (tt.want == "") != tt.c.None() {
			t.Errorf("%+v: none %v", tt.c, tt.c.None())
		}
	}
	first := changes("add /w/a")
	first.Join(changes("delete /w/a", "update /w/b"))
	if got := first.Words("/w", 9); got != "b" {
		t.Errorf("one after the other: %q", got)
	}
}

// A command chooses how many paths it changes, and how long their names are.
func TestChangesAreBounded(t *testing.T) {
	for _, length := range []int{10, 4000} {
		var c sandbox.Changes
		for n := range 20_000 {
			c.Add(sandbox.Change{Path: fmt.Sprintf("/%0*d", length, n), Kind: sandbox.Added})
		}
		size := 0
		for _, ch := range c.List {
			size += len(ch.Path)
		}
		if len(c.List)+c.More != 20_000 || len(c.List) > 300 || size > 32<<10 {
			t.Errorf("names of %d bytes: %d, %d more, %d bytes", length, len(c.List), c.More, size)
		}
	}
}
