package dotgit

import "testing"

func TestCut(t *testing.T) {
	for name, want := range map[string][2]string{
		"/a/.git/b/c": {"/a/.git", "b/c"}, "/a/.git": {"/a/.git", ""}, "/a/.GIT/.git/c": {"/a/.GIT", ".git/c"}, "/a/.g\u200cit./c": {"/a/.g\u200cit.", "c"},
		"/.git/a": {"/.git", "a"}, "/a/.gitx/b": {}, "/a/x.git/b": {}, "/": {}, "": {},
	} {
		if entry, below := Cut(name); entry != want[0] || below != want[1] {
			t.Errorf("%s: %q, %q", name, entry, below)
		}
	}
}
