package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"codeagent/cmd/codeagent/sandboxcmd"
	"codeagent/internal/machine"
)

// These tests run both programs as they are shipped, built by the go command with the helper's
// sum linked in, as an ordinary user and as root.

// ordinary is the uid that stands for an ordinary user; it needs no account.
const ordinary = 1001

var built struct {
	once sync.Once
	dir  string
	err  error
}

// programs builds the programs once and returns their folder.
func programs(t testing.TB) string {
	t.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "codeagent-built-"); built.err != nil {
			return
		}
		built.err = buildPrograms(built.dir)
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.dir
}

// buildPrograms builds codeagent and the programs beside it into dir. args are more arguments of go build.
func buildPrograms(dir string, args ...string) error {
	if err := os.Chmod(dir, 0o755); err != nil { // the ordinary user runs them
		return err
	}
	helper := filepath.Join(dir, "linux-sandbox-helper")
	if err := goBuild(helper, "../linux-sandbox-helper", "", args...); err != nil {
		return err
	}
	sum, err := fileSum(helper)
	if err != nil {
		return err
	}
	if err := goBuild(filepath.Join(dir, "codeagent-extra"), "../codeagent-extra", "", args...); err != nil {
		return err
	}
	return goBuild(filepath.Join(dir, "codeagent"), ".", entryFlag()+"-X main.helperSum="+sum, args...)
}

// entryFlag is ENTRY of the Makefile.
func entryFlag() string {
	if runtime.GOOS != "linux" {
		return ""
	}
	return "-E main.entry "
}

func goBuild(out, pkg, flags string, args ...string) error {
	args = append([]string{"build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w " + flags, "-o", out}, append(args, pkg)...)
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %v\n%s", pkg, err, output)
	}
	return nil
}

// user is one of the users the tests run as, with a home, a workspace and
// programs of its own.
type user struct {
	name                 string
	uid                  int // -1: whoever runs the test
	home, work, bin, out string
}

// apart moves codeagent's programs out of the workspace: without a broker none may hold them.
func (u user) apart(t *testing.T) user {
	t.Helper()
	bin := u.home + "/bin"
	if err := os.Rename(u.bin, bin); err != nil {
		t.Fatal(err)
	}
	u.bin = bin
	return u
}

// eachUser runs f as root and as an ordinary user, outside CI as one of them in turn; without root
// only as the current user.
func eachUser(t *testing.T, f func(t *testing.T, u user)) {
	if runtime.GOOS != "linux" {
		t.Skip("the Linux sandbox is needed")
	}
	names := []string{"self"}
	if os.Geteuid() == 0 {
		names = []string{"root", "ordinary"}
	}
	for _, name := range machine.Pick(t, t.Name(), 1, 2, names) {
		uid := -1
		if name == "ordinary" {
			uid = ordinary
		}
		t.Run(name, func(t *testing.T) { f(t, newUser(t, name, uid)) })
	}
}

func newUser(t testing.TB, name string, uid int) user {
	t.Helper()
	return newUserIn(t, "", name, uid)
}

// newUserIn is newUser below a folder for temporary files.
func newUserIn(t testing.TB, temp, name string, uid int) user {
	t.Helper()
	base, err := os.MkdirTemp(temp, "codeagent-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	u := user{name: name, uid: uid, home: base + "/home", work: base + "/work", out: base + "/out"}
	u.bin = u.work + "/bin" // as in a checkout of this project
	for _, dir := range []string{u.home, u.work, u.bin, u.out} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []string{"codeagent", "linux-sandbox-helper", "codeagent-extra"} {
		data, err := os.ReadFile(filepath.Join(programs(t), p))
		if err != nil {
			t.Fatal(err)
		}
		if err := machine.WriteProgram(filepath.Join(u.bin, p), data); err != nil {
			t.Fatal(err)
		}
	}
	if uid >= 0 {
		err := filepath.WalkDir(base, func(path string, _ os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Lchown(path, uid, uid)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return u
}

// codeagent prepares a run of the program as u in its workspace.
func (u user) codeagent(args ...string) *exec.Cmd {
	cmd := exec.Command(u.bin+"/codeagent", args...)
	cmd.Dir = u.work
	cmd.Env = []string{"HOME=" + u.home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TERM=xterm-256color", "USER=" + u.name}
	for _, name := range []string{"GOROOT", "GOPROXY", "GOFLAGS"} {
		if v := os.Getenv(name); v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	if u.uid >= 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(u.uid), Gid: uint32(u.uid)}}
	}
	return cmd
}

// result is how a run ended.
type result struct {
	code           int
	stdout, stderr string
	report         sandboxcmd.Report
}

func (r result) String() string {
	return fmt.Sprintf("status %d\nstdout: %s\nstderr: %s", r.code, r.stdout, r.stderr)
}

// sandboxed runs a shell script by `codeagent sandbox` and reads the report.
func (u user) sandboxed(t testing.TB, script string, flags ...string) result {
	t.Helper()
	return u.sandboxedArgv(t, []string{"bash", "-c", script}, flags...)
}

func (u user) sandboxedArgv(t testing.TB, argv []string, flags ...string) result {
	t.Helper()
	report := filepath.Join(u.out, "report.json")
	args := append([]string{"sandbox", "--report", report}, flags...)
	r := run1(t, u.codeagent(append(append(args, "--"), argv...)...))
	r.read(t, report)
	return r
}

// read parses the report, if there is one.
func (r *result) read(t testing.TB, report string) {
	t.Helper()
	if data, err := os.ReadFile(report); err == nil && len(data) > 0 {
		if err := json.Unmarshal(data, &r.report); err != nil {
			t.Fatalf("report: %v\n%s", err, data)
		}
	}
}

func run1(t testing.TB, cmd *exec.Cmd) result {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	checkLines(t, cmd, out.String())
	return result{code: cmd.ProcessState.ExitCode(), stdout: out.String(), stderr: errs.String()}
}

func TestWriteOutsideIsRefusedAndNamed(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		// Without the sandbox the same command works.
		bare := exec.Command("bash", "-c", "echo x > ~/bare")
		bare.Env = []string{"HOME=" + u.home, "PATH=" + os.Getenv("PATH")}
		if err := bare.Run(); err != nil {
			t.Fatalf("the attempt does not even work bare: %v", err)
		}
		r := u.sandboxed(t, "echo x > ~/x")
		target := u.home + "/x"
		if _, err := os.Lstat(target); err == nil || r.code == 0 {
			t.Fatalf("%s was written: %v", target, r)
		}
		if !r.report.Denied || len(r.report.Denials) == 0 || r.report.Denials[0].Target != target {
			t.Errorf("the report does not name %s: %+v", target, r.report)
		}
		if !strings.Contains(r.stderr, "⊘ write "+target) {
			t.Errorf("stderr does not name it: %s", r.stderr)
		}
		if r := u.sandboxed(t, "echo x > inside && cat inside"); r.code != 0 || r.stdout != "x\n" || r.report.Denied {
			t.Errorf("inside the workspace: %v", r)
		}
	})
}

func TestLoopbackServerIsNotReached(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer srv.Close()
	eachUser(t, func(t *testing.T, u user) {
		need(t, "curl")
		before := hits.Load()
		if out, err := exec.Command("curl", "-sS", srv.URL).CombinedOutput(); err != nil || hits.Load() != before+1 {
			t.Fatalf("curl does not even work bare: %v %s", err, out)
		}
		r := u.sandboxedArgv(t, []string{"curl", "-sS", srv.URL})
		if r.code == 0 || hits.Load() != before+1 {
			t.Errorf("curl: %d connections from the sandbox, want 0: %v", hits.Load()-before-1, r)
		}
		if !r.report.Denied || len(r.report.Denials) == 0 || r.report.Denials[0].Kind != "network" {
			t.Errorf("the report does not say network: %+v", r.report)
		}
	})
}

// TestOrdinaryWork: a programmer's everyday commands work inside.
func TestOrdinaryWork(t *testing.T) {
	t.Parallel()
	jobs := []struct{ name, need, script, want string }{
		{"git commit", "git", `git init -q . && echo hi > f && git add f && git -c user.name=a -c user.email=a@b commit -qm msg && git log --format=%s`, "msg"},
		{"go test", "go", `printf 'module m\n\ngo 1.21\n' > go.mod && printf 'package m\nimport "testing"\nfunc TestM(t *testing.T) {}\n' > m_test.go && go test ./...`, "ok"},
		{"asyncio", "python3", `python3 -c '
import asyncio
async def main():
    p = await asyncio.create_subprocess_exec("echo", "hi", stdout=asyncio.subprocess.PIPE)
    out, _ = await p.communicate()
    print("child said", out.decode().strip())
asyncio.run(main())'`, "child said hi"},
		{"make", "make", `printf 'all: out.txt\nout.txt:\n\techo made > out.txt\n' > Makefile && make -s && cat out.txt`, "made"},
		{"node", "node", `node -e 'require("child_process").exec("echo from-child", (e, out) => { require("fs").writeFileSync("n.txt", out); console.log(out) })' && cat n.txt`, "from-child"},
		{"pipes", "bash", `seq 1 1000 | sort -rn | head -1`, "1000"},
		{"temporary files", "bash", `f=$(mktemp) && echo temp > $f && cat $f`, "temp"},
		{"gcc", "gcc", `printf '#include <stdio.h>\nint main(void){puts("compiled");}' > c.c && gcc -o c.out c.c && ./c.out`, "compiled"},
	}
	// Outside CI every second one, the others in the next hour.
	jobs = sampled(jobs, machine.Sample(t, 2))
	eachUser(t, func(t *testing.T, u user) {
		for _, job := range jobs {
			if job.name == "go test" && u.name == "root" && !machine.Thorough() {
				t.Logf("not tried in short runs: %s as root (half a minute of compiling; the ordinary user's run shows it)", job.name)
				continue
			}
			t.Run(job.name, func(t *testing.T) {
				need(t, job.need)
				reachable(t, u, job.need)
				r := u.sandboxed(t, job.script)
				if r.code != 0 || !strings.Contains(r.stdout, job.want) {
					t.Errorf("%v", r)
				}
				if r.report.Denied {
					t.Errorf("judged as denied: %+v", r.report.Denials)
				}
			})
		}
	})
}

// TestOwnProgramsCannotBeReplaced: a command that runs in a checkout with
// codeagent's own binaries gains nothing by changing them.
func TestOwnProgramsCannotBeReplaced(t *testing.T) {
	t.Parallel()
	attacks := map[string]string{
		"overwrite the helper":        `printf '#!/bin/sh\nshift; shift; shift; exec "$@"\n' > evil; chmod +x evil; cat evil > bin/linux-sandbox-helper`,
		"replace the helper":          `printf '#!/bin/sh\nexit 0\n' > evil; chmod +x evil; mv -f evil bin/linux-sandbox-helper`,
		"remove the helper":           `rm -f bin/linux-sandbox-helper`,
		"rename the folder":           `mv bin elsewhere; mkdir bin; printf '#!/bin/sh\necho owned\n' > bin/codeagent; chmod +x bin/codeagent`,
		"replace codeagent":           `printf '#!/bin/sh\necho owned\n' > evil; chmod +x evil; mv -f evil bin/codeagent`,
		"replace the side program":    `printf '#!/bin/sh\necho owned\n' > evil; chmod +x evil; mv -f evil bin/codeagent-extra`,
		"link elsewhere":              `cp -r bin evilbin; rm -rf bin; ln -s evilbin bin`,
		"a child that outlives":       `(setsid sh -c 'sleep 0.3; echo evil > bin/linux-sandbox-helper' >/dev/null 2>&1 &) ; true`,
		"change settings":             `mkdir -p ~/.config/codeagent; echo 'sandbox.mode = "danger-full-access"' > ~/.config/codeagent/config.toml`,
		"move the settings' folder":   `mv ~/.config ~/.config2; mkdir -p ~/.config/codeagent && echo 'sandbox.mode = "danger-full-access"' > ~/.config/codeagent/config.toml`,
		"hard link and write through": `ln bin/linux-sandbox-helper h; echo x >> h`,
	}
	eachUser(t, func(t *testing.T, u user) {
		for name, script := range attacks {
			t.Run(name, func(t *testing.T) {
				before := snapshot(t, u)
				u.sandboxed(t, script)
				if after := snapshot(t, u); after != before {
					t.Errorf("the programs or settings are not what they were:\nbefore %s\nafter  %s", before, after)
				}
				r := u.sandboxed(t, "echo x > ~/next")
				if _, err := os.Lstat(u.home + "/next"); err == nil {
					t.Errorf("the next command wrote outside: %v", r)
				}
				if strings.Contains(r.stdout, "owned") {
					t.Errorf("a planted program ran: %v", r)
				}
			})
		}
	})
}

// TestHelperCannotBePlanted: codeagent is its own helper unless one stands beside it. A command in a checkout cannot put one there.
func TestHelperCannotBePlanted(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		if err := os.Remove(u.bin + "/linux-sandbox-helper"); err != nil {
			t.Fatal(err)
		}
		before := snapshot(t, u)
		for _, script := range []string{
			"printf evil > bin/linux-sandbox-helper", "cp bin/codeagent bin/linux-sandbox-helper", "mkfifo bin/linux-sandbox-helper", "ln -s codeagent bin/linux-sandbox-helper",
			"mkdir bin/linux-sandbox-helper", "cp -r bin evil; touch evil/linux-sandbox-helper; mv bin away; mv evil bin",
		} {
			u.sandboxed(t, script)
			if after := snapshot(t, u); after != before {
				t.Errorf("%s: before %s\nafter  %s", script, before, after)
			}
		}
		if r := u.sandboxed(t, "echo fine"); !strings.Contains(r.stdout, "fine") {
			t.Errorf("the next command: %v", r)
		}
	})
}

// snapshot describes the programs and the settings.
func snapshot(t testing.TB, u user) string {
	t.Helper()
	var b strings.Builder
	for _, p := range []string{u.bin + "/codeagent", u.bin + "/linux-sandbox-helper", u.bin + "/codeagent-extra"} {
		sum, err := fileSum(p)
		info, serr := os.Lstat(p)
		if err != nil || serr != nil {
			fmt.Fprintf(&b, "%s: %v %v; ", filepath.Base(p), err, serr)
			continue
		}
		fmt.Fprintf(&b, "%s: %s %s; ", filepath.Base(p), sum[:12], info.Mode())
	}
	data, err := os.ReadFile(u.home + "/.config/codeagent/config.toml")
	fmt.Fprintf(&b, "settings: %q %v", data, err != nil)
	return b.String()
}

func need(t testing.TB, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed", program)
	}
}

// reachable reports whether the ordinary user can run program at all: a toolchain in root's
// home folder cannot be run, which is a property of the machine.
func reachable(t testing.TB, u user, program string) {
	t.Helper()
	cmd := u.codeagent()
	cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", program + ` --version >/dev/null 2>&1 || ` + program + ` version >/dev/null 2>&1`}
	if err := cmd.Run(); err != nil {
		t.Skipf("%s cannot be run by uid %d", program, u.uid)
	}
}

func fileSum(name string) (string, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sha256.Sum256(data)), nil
}
