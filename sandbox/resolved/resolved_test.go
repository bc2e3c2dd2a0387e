package resolved_test

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
)

// disk is a file system: a path maps to the target of a link, or to "" for a folder.
type disk map[string]string

func (d disk) Lstat(name string) (fs.FileMode, error) {
	target, ok := d[name]
	switch {
	case target != "":
		return fs.ModeSymlink, nil
	case ok:
		return fs.ModeDir, nil
	}
	for known := range d {
		if strings.HasPrefix(known, name+"/") {
			return fs.ModeDir, nil
		}
	}
	return 0, &fs.PathError{Op: "lstat", Path: name, Err: fs.ErrNotExist}
}

func (d disk) Readlink(name string) (string, error) { return d[name], nil }

var (
	linux = disk{"/tmp": "", "/var/tmp": "", "/home/u/.ssh": "", "/home/u/key": "vault/key", "/home/u/vault": ""}
	mac   = disk{"/tmp": "private/tmp", "/var": "private/var", "/private/tmp": "", "/private/var/tmp": ""}
	loop  = disk{"/home/u/key": "key"}
)

// TestOn: a row is a policy on a machine, and what it becomes there.
func TestOn(t *testing.T) {
	workspace := sandbox.WorkspaceWrite("/w", "/extra")
	workspace.Temp = "/state/tmp"
	shared := sandbox.Policy{SharedTemp: true}
	closed := sandbox.Policy{DenyRead: []string{"/home/u/.ssh", "/home/u/key", "/home/u/later"}}
	own := sandbox.WorkspaceWrite("/w", "/state/undo")
	own.Protected.Own = []string{"/state"}
	scratch := sandbox.WorkspaceWrite("/state/tmp")
	scratch.Temp = "/state/tmp"
	for _, row := range []struct {
		name   string
		policy sandbox.Policy
		on     disk
		roots  string
		denied string
		err    string
	}{
		{"read-only", sandbox.ReadOnly(), linux, "", "", ""},
		{"workspace", workspace, linux, "workspace /w, added /extra, temporary /state/tmp", "", ""},
		{"the scratch is the temporary folder", scratch, linux, "temporary /state/tmp", "", ""},
		{"shared temporary", shared, linux, "shared temporary /tmp, shared temporary /var/tmp", "", ""},
		{"shared temporary on a Mac", shared, mac, "shared temporary /private/tmp, shared temporary /private/var/tmp", "", ""},
		{"a link to a closed path", closed, linux, "", "/home/u/.ssh /home/u/key /home/u/later /home/u/vault/key", ""},
		{"a closed path that cannot be resolved", closed, loop, "", "", "deny_read /home/u/key"},
		{"a root in codeagent's own folder", own, linux, "", "", "belongs to codeagent itself"},
		{"a path that is not clean", sandbox.WorkspaceWrite("/w/../x"), linux, "", "", "clean absolute path"},
		{"unconfined", sandbox.FullAccess(), linux, "", "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			p, err := resolved.On(row.on, row.policy)
			if row.err != "" || err != nil {
				if err == nil || row.err == "" || !strings.Contains(err.Error(), row.err) {
					t.Errorf("error %v, want %q", err, row.err)
				}
				return
			}
			var roots []string
			for _, r := range p.Roots {
				roots = append(roots, string(r.Origin)+" "+r.Path)
				if !p.JudgeWrite(r.Path + "/x").Allowed {
					t.Errorf("%s: not writable", r.Path)
				}
			}
			if got := strings.Join(roots, ", "); got != row.roots {
				t.Errorf("roots %q, want %q", got, row.roots)
			}
			if got := strings.Join(p.DenyRead, " "); got != row.denied {
				t.Errorf("closed %q, want %q", got, row.denied)
			}
			for _, path := range p.DenyRead {
				if p.JudgeRead(path).Allowed {
					t.Errorf("%s is readable", path)
				}
			}
			if p.Unconfined != row.policy.Unconfined {
				t.Error("another confinement")
			}
		})
	}
}

// TestWidened: a grant and what a backend adds are policies of their own, and leave the first alone.
func TestWidened(t *testing.T) {
	declared := sandbox.WorkspaceWrite("/w")
	declared.Read, declared.DenyRead = []sandbox.Root{{Path: "/usr"}}, []string{"/home/u/key"}
	p, err := resolved.On(linux, declared)
	if err != nil {
		t.Fatal(err)
	}
	key := "/home/u/vault/key"
	with := p.With(sandbox.Grant{Write: []string{"/later"}, Read: []string{"/home"}})
	plus := p.Plus([]string{"/dev/shm"}, []string{"/opt/codeagent"})
	narrow := with.Closed(sandbox.Revocation{Grant: sandbox.Grant{Write: []string{"/later"}}, Open: declared})
	for _, row := range []struct {
		what string
		got  bool
		want bool
	}{
		{"granted", with.JudgeWrite("/later").Allowed && slices.Contains(with.Paths(), "/later"), true},
		{"a target stays closed under a granted folder", with.JudgeRead(key).Allowed, false},
		{"and is not written under one", with.With(sandbox.Grant{Write: []string{path.Dir(key)}}).JudgeWrite(key).Allowed, false},
		{"added", plus.JudgeWrite("/dev/shm/x").Allowed && plus.JudgeRead("/opt/codeagent").Allowed, true},
		{"revoked", narrow.JudgeWrite("/later").Allowed || slices.Contains(narrow.Paths(), "/later"), false},
		{"the first policy", p.JudgeWrite("/later").Allowed || p.JudgeWrite("/dev/shm/x").Allowed || p.JudgeRead("/opt/codeagent").Allowed || len(p.Roots) != 1, false},
	} {
		if row.got != row.want {
			t.Errorf("%s: %v", row.what, row.got)
		}
	}
	if _, err := resolved.On(disk{}, sandbox.Policy{Read: []sandbox.Root{{Path: "x"}}}); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Error("an invalid policy is resolved")
	}
}
