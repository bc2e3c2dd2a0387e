package main

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"codeagent/internal/attack"
)

// init makes this test binary the launcher of surroundings, where it is started
// as one.
func init() { attack.Launcher() }

// TestDoctorInSettings runs doctor where namespaces work and where they do not.
// Who is not root has one setting only, the own.
func TestDoctorInSettings(t *testing.T) {
	const held, lost = `
  refused   write a file outside the roots
  refused   change the mode of a file outside
  refused   connect to a server of this machine
  refused   connect to a socket file
  refused   signal codeagent
  refused   leave a process behind`, `
            lost      the end of all that a command leaves behind
            but       the keeper finds and ends it`
	for _, row := range []struct {
		name, surroundings string
		uid                int
		want               string
	}{
		{"root", attack.SurroundPlain, 0, held + "\n  mountns   active    tried: "},
		{"user", attack.SurroundPlain, ordinary, held + "\n  userns    active    tried: "},
		{"user without namespaces", attack.SurroundNoNamespaces, ordinary, held + lost + "\n  mountns   absent    "},
		{"root in a container", attack.SurroundContainer, 0, held + lost + "\n  mountns   absent    "},
	} {
		t.Run(row.name, func(t *testing.T) {
			if os.Getuid() != 0 && row.uid != os.Getuid() {
				return
			}
			uid := row.uid
			if uid == 0 {
				uid = -1
			}
			u := newUser(t, row.name, uid)
			cmd := u.codeagent("doctor")
			attr, env := &syscall.SysProcAttr{}, ""
			if row.surroundings == attack.SurroundNoNamespaces {
				var err error
				if attr, env, err = attack.NewUserNamespace(); err != nil {
					t.Fatal(err)
				}
			}
			launched := exec.Command("/proc/self/exe")
			launched.Args = append([]string{attack.LauncherName, row.surroundings, strconv.Itoa(row.uid)}, cmd.Args...)
			launched.Dir, launched.Env, launched.SysProcAttr = cmd.Dir, append(cmd.Env, env), attr
			r := run1(t, launched)
			if r.code != 0 || strings.Contains(r.stdout, "FAILED") || strings.Contains(r.stdout, "unknown") {
				t.Errorf("%v", r)
			}
			for _, line := range strings.Split(row.want, "\n") {
				if !strings.Contains(r.stdout, line) {
					t.Errorf("no %q in\n%s", line, r.stdout)
				}
			}
			t.Log(r.stdout)
		})
	}
}
