package tools

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codeagent/sandbox/protect/protecttest"
)

// outsideSeeds returns patches that name paths outside in every possible way, and some
// harmless ones.
func outsideSeeds() []string {
	var out []string
	for _, name := range []string{
		"a", "sub/f", "new/deep/n", "./sub/../a", "../out/secret", "..", "/", ".", "sub/../../out/n", "linkdir/secret", "linkdir/n", "linkfile",
		"dangling", "up/out/secret", "/proc/self/root/etc/n", "/proc/self/cwd/../out/secret", ".git/hooks/pre-commit", protecttest.In("{editor}"), protecttest.In("{agent}/x"),
		"sub//f", "sub/./f", "a/b", "a\x00b", "-rf", "~/x", "$HOME/x", "sub/", "linkdir/../secret", "\u202ea",
	} {
		out = append(out,
			"*** Add File: "+name+"\n+x\n",
			"*** Delete File: "+name+"\n",
			"*** Update File: "+name+"\n-secret\n+x\n",
			"*** Update File: a\n*** Move to: "+name+"\n",
			"*** Update File: "+name+"\n*** Move to: sub/moved\n",
			"*** Add File: n\n+x\n*** Add File: "+name+"\n+x\n")
	}
	return out
}

// hostilePlace is a workspace whose links lead out of it in several ways.
func hostilePlace(t *testing.T) *place {
	p := newPlace(t, map[string]string{"a": "a\nsecret\n", "sub/f": "f\n", ".git/HEAD": "ref: refs/heads/main\n", ".git/hooks/pre-commit": "secret\n", protecttest.In("{editor}"): "secret\n"})
	p.link(p.out, "linkdir")
	p.link(filepath.Join(p.out, "secret"), "linkfile")
	p.link(filepath.Join(p.out, "not-yet"), "dangling")
	p.link("..", "up")
	p.policy.Protected.Paths = append(p.policy.Protected.Paths, filepath.Join(p.ws, ".git/hooks"))
	return p
}

// checkOutside applies a patch in a hostile place where every question is answered
// by no: nothing outside and nothing protected may change, and a refused or
// failed patch changes nothing at all.
func checkOutside(t *testing.T, body string) {
	p := hostilePlace(t)
	before := p.tree(filepath.Dir(p.ws))
	r, err := p.do("apply_patch", args{"patch": "*** Begin Patch\n" + body + "*** End Patch"})
	after := p.tree(filepath.Dir(p.ws))
	if err != nil || r.Failed {
		if diff := cmp.Diff(before, after); diff != "" {
			t.Fatalf("%q was refused (%v %s), and yet: %s", body, err, r.Text, diff)
		}
		return
	}
	for _, tree := range []map[string]string{before, after} {
		for name := range tree {
			inside := strings.HasPrefix(name, "ws/") && !strings.HasPrefix(name, "ws/.git/hooks") && !strings.HasPrefix(name, protecttest.In("ws/{editor/}")) && !strings.HasPrefix(name, protecttest.In("ws/{agent}"))
			if !inside && before[name] != after[name] {
				t.Fatalf("%q changed %s from %q to %q", body, name, before[name], after[name])
			}
		}
	}
}

func FuzzApplyPatchOutside(f *testing.F) {
	for _, s := range outsideSeeds() {
		f.Add(s)
	}
	f.Fuzz(checkOutside)
}
