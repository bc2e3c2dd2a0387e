//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"codeagent/internal/attack"
)

// ordinaryUser runs the suites if root runs the comparison.
const ordinaryUser = 1001

// stage is a folder that the user who runs the suites can access.
//
//	codeagent, linux-sandbox-helper, the suites   built here
//	home, work, tmp                               the user's own
type stage struct {
	dir, goroot, surroundings string
	uid                       int
}

// newStage builds both programs. The folder is not below /tmp, since the sandbox shows
// commands a different /tmp.
func newStage(o *options) (*stage, error) {
	st := &stage{surroundings: o.surroundings, uid: os.Getuid()}
	if st.uid == 0 {
		st.uid = ordinaryUser
	} else if o.surroundings != attack.SurroundPlain {
		return nil, fmt.Errorf("surroundings other than %q need root", attack.SurroundPlain)
	}
	var err error
	for _, parent := range []string{"/srv", "/var/lib", os.Getenv("HOME"), ""} {
		if st.dir, err = os.MkdirTemp(parent, "codeagent-compat"); err == nil {
			break
		}
	}
	if err == nil {
		err = st.furnish()
	}
	if err != nil {
		st.remove()
		return nil, err
	}
	return st, nil
}

func (st *stage) furnish() error {
	if err := os.Chmod(st.dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"home", "work", "tmp"} {
		own := filepath.Join(st.dir, name)
		if err := os.Mkdir(own, 0o755); err != nil {
			return err
		}
		if err := os.Chown(own, st.uid, st.uid); err != nil {
			return err
		}
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	st.goroot = strings.TrimSpace(string(root))
	build := exec.Command("go", "build", "-buildvcs=false", "-o", st.dir+"/", "codeagent/cmd/codeagent", "codeagent/cmd/linux-sandbox-helper")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

func (st *stage) remove() { _ = os.RemoveAll(st.dir) }

// inner returns a shell command that runs argv in dir, or in a new folder. Its environment is
// the same outside and inside, except for TMPDIR.
func (st *stage) inner(argv []string, dir string) []string {
	enter := `d=$(mktemp -d ` + st.dir + `/work/run.XXXXXX) && cd "$d"`
	if dir != "" {
		enter = "cd '" + dir + "'"
	}
	// The shell does not exec argv: a session leader would get SIGHUP from each terminal
	// that a test opens and closes.
	env := `env -i HOME=` + st.dir + `/home PATH=` + st.goroot + `/bin:/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 USER=compat TERM=xterm GOCACHE=` +
		st.dir + `/work/cache GOROOT=` + st.goroot + ` GOTOOLCHAIN=local GOFLAGS=-buildvcs=false TMPDIR="$TMPDIR" "$@"; exit $?`
	return append([]string{"sh", "-c", enter + " && " + env, "sh"}, argv...)
}

func (st *stage) bare(argv []string, dir string) []string { return st.inner(argv, dir) }

func (st *stage) boxed(argv []string, dir string) []string {
	return append([]string{filepath.Join(st.dir, "codeagent"), "sandbox", "--cd", st.dir + "/work", "--"}, st.inner(argv, dir)...)
}

// run executes argv in the surroundings as the user, in a session of its own.
func (st *stage) run(argv []string, output io.Writer) error {
	ctx, cancel := context.WithTimeout(context.Background(), suiteLimit)
	defer cancel()
	program, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, argv[1:]...)
	attr := &syscall.SysProcAttr{}
	env := ""
	if os.Getuid() == 0 {
		if st.surroundings == attack.SurroundNoNamespaces {
			if attr, env, err = attack.NewUserNamespace(); err != nil {
				return err
			}
		}
		cmd = exec.CommandContext(ctx, "/proc/self/exe")
		cmd.Args = append([]string{attack.LauncherName, st.surroundings, strconv.Itoa(st.uid), program}, argv[1:]...)
	}
	attr.Setsid = true
	cmd.SysProcAttr, cmd.Dir = attr, filepath.Join(st.dir, "work")
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + st.dir + "/home", "TMPDIR=" + st.dir + "/tmp", "LANG=C.UTF-8", "TERM=xterm", env}
	cmd.Stdout, cmd.Stderr = output, output
	return cmd.Run()
}
