package draft_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/exec"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
)

// TestSessionGrants: nothing that a command of a session on a draft does in the workspace reaches the files, also not what
// is granted to it there, at its start or while it runs. Without the draft each of these writes does.
func TestSessionGrants(t *testing.T) { tests.InSettings(t, "^TestSessionGrantsInSetting$") }

func TestSessionGrantsInSetting(t *testing.T) {
	backendtest.InSetting(t, "TestSessionGrants")
	p := newPlace(t)
	outside := filepath.Join(filepath.Dir(p.ws), "outside")
	native(t, p.ws, "sh", "-c", "git init -q . && mkdir -p .codeagent sub && echo a >a && echo b >sub/b && echo r >.codeagent/rules.toml && mkdir ../outside")
	_, r, _ := p.onDraft(t)
	before := everything(p.ws)
	hold := &backendtest.Asker{Answer: backendtest.Yes}
	for _, c := range []struct{ script, grant string }{
		{"echo evil >>.git/config", ".git/config"},
		{"echo evil >.git/hooks/made", ".git/hooks/made"},
		{"echo evil >.git/hooks/made", ".git/hooks"},
		{"echo evil >>.codeagent/rules.toml", ".codeagent/rules.toml"},
		{"echo evil >.codeagent/hooks.toml", ".codeagent/hooks.toml"},
		{"mv .git/hooks h; mkdir .git/hooks; echo evil >.git/hooks/x", ".git"},
		{"echo evil >>.git/config; echo evil >.git/hooks/held; mv .git/config .git/moved", ""},
		{"chmod 777 a .git/config; touch -d 2001-01-01 a sub; ln a .git/hooks/linked; ln sub/b c", ""},
		{"for p in /proc/1/root /proc/self/root /proc/$PPID/root; do echo evil >$p$PWD/a; echo evil >>$p$PWD/.git/config; done", ""},
		{"for p in 1 $PPID self; do echo evil >/proc/$p/cwd/a; done; exec 3<sub; echo evil >/proc/self/fd/3/b; echo evil >/proc/self/fd/3/../a", ""},
		{"rm -rf .git sub a; mkdir sub; echo evil >sub/b", ".git"},
	} {
		policy := p.policy
		if c.grant != "" {
			policy = policy.With(sandbox.Grant{Write: []string{filepath.Join(p.ws, c.grant)}})
		}
		o, err := r.Run(context.Background(), policy, exec.Command{Argv: []string{"/bin/sh", "-c", c.script}, Dir: p.ws, Holder: hold}, nil)
		if err != nil && !strings.Contains(err.Error(), "cannot be granted") {
			t.Error(err)
		}
		t.Logf("%s: %d %s", c.script, o.Status.Exit, o.Output.Text())
		if now := everything(p.ws); now != before {
			t.Fatalf("%q reached the files: %s", c.script, now)
		}
	}
	o, err := r.Run(context.Background(), p.policy, exec.Command{Argv: []string{"/bin/sh", "-c", "echo x >" + outside + "/x"}, Dir: p.ws, Holder: hold}, nil)
	if data, _ := os.ReadFile(outside + "/x"); err != nil || string(data) != "x\n" {
		t.Errorf("what was granted outside: %q, %v, %s", data, err, o.Output.Text())
	}
}
