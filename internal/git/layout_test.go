package git

import (
	"errors"
	"testing"
)

// TestTop: the nearest folder counts, and what cannot be looked at ends the search.
func TestTop(t *testing.T) {
	for _, c := range []struct {
		dir, has, bad, want string
	}{
		{"/a/b/c", "/a/b/.git", "", "/a/b"},
		{"/a/b", "/a/b/.git", "", "/a/b"},
		{"/a/b", "/.git", "", "/"},
		{"/a/b", "", "", ""},
		{"/a/b", "/.git", "/a/.git", ""},
		{"/", "/.git", "", "/"},
	} {
		top, ok := Top(c.dir, func(entry string) (bool, error) {
			if entry == c.bad {
				return false, errors.New("no right")
			}
			return entry == c.has, nil
		})
		if top != c.want || ok != (c.want != "") {
			t.Errorf("%+v: %q, %v", c, top, ok)
		}
	}
}

func TestTarget(t *testing.T) {
	for text, want := range map[string]string{"gitdir: ../x\n": "../x", "gitdir: /a b\r\n": "/a b", "gitdir: x": "x", "gitdir:x\n": "", "x": "", "": ""} {
		if got, ok := Target(text); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q, %v", text, got, ok)
		}
	}
}
