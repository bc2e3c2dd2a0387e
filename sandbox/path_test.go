package sandbox_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"codeagent/sandbox"
)

// tree is a file system as a map: from a path to a directory (""), to a link's target ("-> x"), or
// to an error ("! x"). Everything else is absent.
type tree map[string]string

var errUnreadable = errors.New("permission denied")

func (t tree) Lstat(p string) (fs.FileMode, error) {
	entry, ok := t[p]
	switch {
	case !ok:
		return 0, fmt.Errorf("lstat %s: %w", p, fs.ErrNotExist)
	case strings.HasPrefix(entry, "! "):
		return 0, fmt.Errorf("lstat %s: %w", p, errUnreadable)
	case strings.HasPrefix(entry, "-> "):
		return fs.ModeSymlink | 0o777, nil
	}
	return fs.ModeDir | 0o755, nil
}

func (t tree) Readlink(p string) (string, error) {
	target, ok := strings.CutPrefix(t[p], "-> ")
	if !ok {
		return "", fmt.Errorf("readlink %s: not a link", p)
	}
	return target, nil
}

// folded looks names up case-insensitively, as APFS and NTFS do.
type folded struct{ tree }

func (f folded) Lstat(p string) (fs.FileMode, error) { return f.tree.Lstat(strings.ToLower(p)) }
func (f folded) Readlink(p string) (string, error)   { return f.tree.Readlink(strings.ToLower(p)) }

var house = tree{
	"/w": "", "/w/a": "", "/w/a/b": "", "/w/ab": "", "/etc": "", "/home": "", "/home/u": "",
	"/w/up": "-> ..", "/w/out": "-> /etc", "/w/in": "-> a/b", "/w/chain": "-> in", "/w/dot": "-> .",
	"/w/loop": "-> loop", "/w/ping": "-> pong", "/w/pong": "-> ping", "/w/new": "-> /etc/not-yet",
	"/w/hidden": "! unreadable", "/w/tohidden": "-> hidden/x", "/w/slash": "-> /", "/w/deep": "-> a/../../etc",
	"/w/after": "-> missing/../x", "/tmp": "-> private/tmp", "/private": "", "/private/tmp": "",
	"/w/a\nb": "", "/w/\xff": "", "/w/ü": "", "/w/tail": "-> a/",
}

func TestCanonical(t *testing.T) {
	for _, c := range []struct{ dir, name, want string }{
		{"/w", "a", "/w/a"},
		{"/w", ".", "/w"},
		{"/w", "./a/./b/", "/w/a/b"},
		{"/w", "a//b///", "/w/a/b"},
		{"/", "w/a/..", "/w"},
		{"/w", "../../../..", "/"},
		{"", "/w/a", "/w/a"},
		{"/w", "/", "/"},
		{"/w", "up", "/"},
		{"/w", "up/etc", "/etc"},
		{"/w", "up/..", "/"},
		{"/w", "out/passwd", "/etc/passwd"},
		{"/w", "out/..", "/"},
		{"/w", "in/..", "/w/a"}, // relative to the link's target, not to the link
		{"/w", "chain", "/w/a/b"},
		{"/w", "dot/dot/dot/a", "/w/a"},
		{"/w", "slash/w/slash/etc", "/etc"},
		{"/w", "deep/x", "/etc/x"},
		{"/w", "tail/b", "/w/a/b"},
		{"/w", "new", "/etc/not-yet"}, // E3: a link to a missing target
		{"/w", "new/more", "/etc/not-yet/more"},
		{"/w", "missing/x/y", "/w/missing/x/y"},
		{"/w", "missing/./x/", "/w/missing/x"},
		{"/w", "A", "/w/A"}, // names are case-sensitive here, so this one is absent
		{"/w", "a\nb", "/w/a\nb"},
		{"/w", "\xff/x", "/w/\xff/x"},
		{"/w", "u\u0308", "/w/u\u0308"}, // the NFD form is another name than the NFC form
		{"/w/out", "x", "/etc/x"},
		{"/w", "/tmp/x", "/private/tmp/x"},
		{"/w", " ", "/w/ "},
		{"/w", "~", "/w/~"},
		{"/w", "...", "/w/..."},
		{"/w", `a\..\b`, `/w/a\..\b`}, // a backslash is not a separator
	} {
		got, err := sandbox.Canonical(house, c.dir, c.name)
		if err != nil || got != c.want {
			t.Errorf("Canonical(%q, %q) = %q, %v; want %q", c.dir, c.name, got, err, c.want)
		}
	}
}

func TestCanonicalRefuses(t *testing.T) {
	for _, c := range []struct {
		dir, name string
		want      error // nil: any error
	}{
		{"/w", "", nil},
		{"/w", "a\x00b", nil},
		{"w", "a", nil},
		{"", "a", nil},
		{"/w", "loop", sandbox.ErrTooManyLinks},
		{"/w", "ping/x", sandbox.ErrTooManyLinks},
		{"/w", "missing/..", nil},
		{"/w", "missing/../a", nil},
		{"/w", "new/..", nil},
		{"/w", "after", nil},
		{"/w", "hidden", errUnreadable},
		{"/w", "hidden/x", errUnreadable},
		{"/w", "tohidden", errUnreadable}, // E3: an unreadable parent
		{"/w/loop", "..", sandbox.ErrTooManyLinks},
	} {
		got, err := sandbox.Canonical(house, c.dir, c.name)
		if err == nil || got != "" || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("Canonical(%q, %q) = %q, %v; want an error %v", c.dir, c.name, got, err, c.want)
		}
	}
}

// TestCanonicalLinkLimit: Canonical follows as many links as Linux, and no more.
func TestCanonicalLinkLimit(t *testing.T) {
	chain := tree{"/end": ""}
	for i := range 41 {
		next := fmt.Sprintf("l%d", i+1)
		if i == 40 {
			next = "end"
		}
		chain[fmt.Sprintf("/l%d", i)] = "-> " + next
	}
	if got, err := sandbox.Canonical(chain, "/", "l1"); err != nil || got != "/end" {
		t.Errorf("40 links: %q, %v", got, err)
	}
	if got, err := sandbox.Canonical(chain, "/", "l0"); !errors.Is(err, sandbox.ErrTooManyLinks) {
		t.Errorf("41 links: %q, %v", got, err)
	}
}

// TestCanonicalFolded: on a case-insensitive volume a link is followed under every spelling of its
// name.
func TestCanonicalFolded(t *testing.T) {
	if got, err := sandbox.Canonical(folded{house}, "/w", "OUT/passwd"); err != nil || got != "/etc/passwd" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		root, path string
		want       bool
	}{
		{"/w/a", "/w/a", true}, {"/w/a", "/w/a/b", true}, {"/w/a", "/w/ab", false}, {"/w/a", "/w", false},
		{"/", "/", true}, {"/", "/x", true}, {"/w/a", "/w/a.b", false}, {"/w/a", "/w/A/b", false},
		{"/w/ab", "/w/a/b", false}, {"/w", "/", false}, {"/w/a", "/x/w/a", false},
	} {
		if got := sandbox.Covers(c.root, c.path); got != c.want {
			t.Errorf("Covers(%q, %q) = %v", c.root, c.path, got)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	for name := range house {
		f.Add("/w", strings.TrimPrefix(name, "/w/"))
		f.Add(name, "../x")
	}
	f.Add("/w", "missing/../x")
	f.Add("", "\x00")
	f.Fuzz(checkCanonical)
}

// checkCanonical checks that a result is absolute, clean, and its own canonical form.
func checkCanonical(t *testing.T, dir, name string) {
	got, err := sandbox.Canonical(house, dir, name)
	if err != nil {
		if got != "" {
			t.Errorf("Canonical(%q, %q) gives %q beside an error", dir, name, got)
		}
		return
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(got, "/"), "/") {
		if got != "/" && (part == "" || part == "." || part == "..") {
			t.Errorf("Canonical(%q, %q) = %q is not clean", dir, name, got)
		}
	}
	if again, err := sandbox.Canonical(house, "", got); err != nil || again != got {
		t.Errorf("Canonical(%q, %q) = %q, whose own canonical form is %q, %v", dir, name, got, again, err)
	}
}
