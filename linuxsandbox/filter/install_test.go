//go:build linux

package filter

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// filterChild, in the environment, makes this test binary install the deny filter on itself before
// it runs the rest of its arguments.
const filterChild = "CODEAGENT_TEST_FILTER"

// confineSelf installs the deny filter on the calling thread for good.
func confineSelf(o Options) error {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog, err := Program(runtime.GOARCH, o)
	if err != nil {
		return err
	}
	_, err = Install(prog, false)
	return err
}

// TestInstallFilterChild is the body of TestInstallFilter's child.
func TestInstallFilterChild(t *testing.T) {
	if os.Getenv(filterChild) != "install" {
		t.Skip("body of TestInstallFilter")
	}
	before, err := threadSeccomp()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0); err != nil {
		t.Fatalf("a socket without the filter: %v", err)
	}
	if err := confineSelf(Options{}); err != nil {
		t.Fatal(err)
	}
	after, err := threadSeccomp()
	if err != nil || after.mode != 2 || after.filters != before.filters+1 {
		t.Errorf("before %+v, after %+v, %v", before, after, err)
	}
	if _, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0); !errors.Is(err, unix.EPERM) {
		t.Errorf("a socket under the filter: %v", err)
	}
	out, err := exec.Command("/bin/sh", "-c", "grep Seccomp: /proc/self/status").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "Seccomp:\t2" {
		t.Errorf("what the thread starts: %q, %v", out, err)
	}
	other := make(chan error)
	go func() {
		s, err := threadSeccomp()
		if err == nil && s.mode != before.mode {
			err = fmt.Errorf("another thread has mode %d", s.mode)
		}
		other <- err
	}()
	if err := <-other; err != nil {
		t.Error(err)
	}
	fmt.Println("install checked")
}

func TestInstallFilter(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestInstallFilterChild$", "-test.count=1")
	cmd.Env = append(os.Environ(), filterChild+"=install", sandboxtest.NoPause)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "install checked") {
		t.Errorf("%v\n%s", err, out)
	}
}

func threadSeccomp() (seccompState, error) {
	fd, err := unix.Open(statusFile, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return seccompState{}, err
	}
	defer unix.Close(fd)
	return readSeccomp(fd)
}
