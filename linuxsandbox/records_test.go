//go:build linux

package linuxsandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// records are codeagent's own folders as a session has them, with a workspace beside them.
type records struct{ base, ws, state, undo, sessions, output string }

func newRecords(t testing.TB) records {
	t.Helper()
	base, err := os.MkdirTemp(os.Getenv(attack.EnvStage), "records")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { attack.RemoveAll(base) })
	return fillRecords(t, base)
}

func fillRecords(t testing.TB, base string) records {
	t.Helper()
	state := base + "/state"
	r := records{base: base, ws: base + "/ws", state: state, undo: state + "/undo", sessions: state + "/sessions", output: state + "/output"}
	for file, text := range map[string]string{
		r.undo + "/s1/kept": secretText, r.sessions + "/s1.jsonl": `{"text":"` + secretText + `"}` + "\n",
		r.output + "/output-1.txt": "open to all", r.ws + "/own": "open to all",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(r.undo, r.ws+"/before"); err != nil {
		t.Fatal(err)
	}
	return r
}

// policy is the policy of a session.
func (r records) policy() sandbox.Policy {
	p := sandbox.WorkspaceWrite(r.ws)
	p.Protected.Own, p.Protected.Hidden = []string{r.state}, []string{r.sessions, r.undo}
	return p
}

func (r records) command(script string) sandbox.Command {
	return sandbox.Command{Path: "bash", Args: []string{"bash", "-c", script}, Dir: r.ws, Env: []string{
		"PATH=/usr/bin:/bin", "LC_ALL=C", "STATE=" + r.state, "UNDO=" + r.undo, "SESSIONS=" + r.sessions, "OUTPUT=" + r.output,
	}}
}

// recordRoutes are ways to read the records. Each script prints the secret if nothing stops it.
var recordRoutes = []struct{ name, script string }{
	{"a kept file", `cat $UNDO/s1/kept`},
	{"a line of a session", `grep text $SESSIONS/s1.jsonl`},
	{"by a link that was there before", `cat before/s1/kept`},
	{"by a link made inside", `ln -sfn $SESSIONS d; cat d/s1.jsonl`},
	{"by /proc/self/root", `cat /proc/self/root$UNDO/s1/kept`},
	{"by /proc/PID/cwd", `cd $STATE; cat /proc/$$/cwd/undo/s1/kept`},
	{"by a descriptor of the folder above", `exec python3 -c 'import os
d = os.open(os.environ["STATE"], os.O_PATH); print(os.read(os.open("undo/s1/kept", 0, dir_fd=d), 99))'`},
	{"from inside", `cd $UNDO/s1 && cat kept`},
	{"by dots", `cat $OUTPUT/../undo/s1/kept`},
	{"by other processes' view", `for p in /proc/[0-9]*; do cat $p/root$UNDO/s1/kept; done`},
	{"by a search", `grep -r the-secret $STATE`},
	{"by copying all", `cp -r $STATE c; cat c/undo/s1/kept`},
	{"with its mode changed", `chmod 700 $UNDO; cat $UNDO/s1/kept`},
	{"with the mount taken off", `umount $UNDO; umount -l $UNDO; cat $UNDO/s1/kept`},
	{"in another mount namespace", `unshare -m sh -c "umount $UNDO"; unshare -Urm sh -c "umount $UNDO; cat $UNDO/s1/kept"; cat $UNDO/s1/kept`},
	{"by another session", `setsid -w sh -c 'cat $UNDO/s1/kept'`},
}

// TestRecords runs TestRecordsInSetting in every setting.
func TestRecords(t *testing.T) { tests.InSettings(t, "^TestRecordsInSetting$") }

// TestRecordsInSetting: if the records are not hidden, each route prints the secret. If they are
// hidden, no route does where mounts work; elsewhere a weakness says so.
func TestRecordsInSetting(t *testing.T) {
	b, f := backendInSetting(t, "TestRecords")
	for _, route := range recordRoutes {
		t.Run(route.name, func(t *testing.T) {
			open := newRecords(t)
			p := open.policy()
			p.Protected.Hidden = nil
			if st, out := sandboxtest.Output(t, b, p, open.command(route.script)); !strings.Contains(out, secretText) {
				t.Fatalf("the secret is not printed although reading it is allowed: %+v\n%s", st, out)
			}
			r := newRecords(t)
			_, out := sandboxtest.Output(t, b, r.policy(), r.command(route.script))
			r.judge(t, b, f.Namespaces, out)
		})
	}
	t.Run("the rest", func(t *testing.T) {
		r := newRecords(t)
		st, out := sandboxtest.Output(t, b, r.policy(), r.command(`set -e; cat $OUTPUT/output-1.txt own; ls $STATE; test -d $UNDO -a -d $SESSIONS; echo x > new`))
		if st.Exit != 0 || strings.Count(out, "open to all") != 2 || !strings.Contains(out, "undo") {
			t.Errorf("%+v\n%s", st, out)
		}
	})
	t.Run("closed by deny_read", func(t *testing.T) { // as the weakness suggests
		r := newRecords(t)
		p := r.policy()
		p.DenyRead = []string{r.undo, r.sessions}
		_, out := sandboxtest.Output(t, b, p, r.command(`cat $UNDO/s1/kept $SESSIONS/s1.jsonl $OUTPUT/output-1.txt`))
		if strings.Contains(out, secretText) || !strings.Contains(out, "open to all") || r.told(t, b, p) != "" {
			t.Errorf("%s\n%s", r.told(t, b, p), out)
		}
	})
	if f.Root {
		t.Run("in a workspace that is not root's", func(t *testing.T) { // where root retains file capabilities
			r := newRecords(t)
			if err := os.Chown(r.ws, attack.StrangerUID, attack.StrangerUID); err != nil {
				t.Skip("no user may be given files here")
			}
			_, out := sandboxtest.Output(t, b, r.policy(), r.command(`ls $UNDO; cat $UNDO/s1/kept; chmod 700 $UNDO; cat $UNDO/*/*`))
			r.judge(t, b, f.Namespaces, out)
		})
	}
}

// judge compares what was read with the stated weaknesses.
func (r records) judge(t *testing.T, b *Backend, held bool, out string) {
	t.Helper()
	told := r.told(t, b, r.policy())
	switch {
	case held && strings.Contains(out, secretText):
		t.Errorf("read:\n%s", out)
	case held && told != "":
		t.Errorf("nothing can be read, and still: %s", told)
	case !held && (!strings.Contains(told, r.undo) || !strings.Contains(told, r.sessions)):
		t.Errorf("they can be read, and this does not say so: %q", told)
	case !held && !strings.Contains(out, secretText):
		t.Errorf("not read, and the weakness says they can be:\n%s", out)
	}
}

// told returns the weakness about records under p.
func (r records) told(t *testing.T, b *Backend, p sandbox.Policy) string {
	t.Helper()
	e, err := sandboxtest.Enforcement(b, p)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(e.Weaknesses, func(w sandbox.Weakness) bool { return w.ID == "own-records" })
	if i < 0 {
		return ""
	}
	return e.Weaknesses[i].What
}
