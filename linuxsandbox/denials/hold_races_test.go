//go:build linux

package denials

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// TestHeldRaces: under a path that was granted to the running command, names change while the
// broker handles calls about them. Nothing outside the path changes.
func TestHeldRaces(t *testing.T) {
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		for _, ws := range []struct {
			name   string
			policy func(*sandbox.Policy)
		}{
			{"a brokered workspace", func(*sandbox.Policy) {}},
			{"a workspace of the kernel's", func(p *sandbox.Policy) { p.Protected.Names = nil }},
		} {
			for _, flip := range []string{"memory", "link", "folder"} {
				t.Run(ws.name+", "+flip, func(t *testing.T) {
					away := filepath.Dir(th.Out)
					attack.RemoveAll(away)
					attack.RemoveAll(th.Dir)
					steps := []error{os.Mkdir(th.Dir, 0o755), os.Mkdir(away, 0o755)}
					for _, dir := range []string{"/good", "/evil"} {
						steps = append(steps, os.MkdirAll(away+dir+"/way", 0o755), os.WriteFile(away+dir+"/f", []byte("text"), 0o644), os.WriteFile(away+dir+"/way/f", nil, 0o644))
					}
					for _, err := range steps {
						if err != nil {
							t.Fatal(err)
						}
					}
					var before, after strings.Builder
					attack.Describe(&before, away+"/evil")
					a := &backendtest.Asker{Answer: func(_ context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
						return sandbox.Grant{Write: []string{away + "/good"}}, sandbox.Covers(away+"/good", d.Target)
					}}
					old := th.Policy
					defer func() { th.Policy = old }()
					th.Policy = th.Policy.Clone()
					ws.policy(&th.Policy)
					st, out, _ := th.Ask(t, a, sandbox.Command{Path: th.Binary, Args: []string{"victim", brokerVictimArg}, Env: th.Env("granted "+flip, away+"/good")})
					attack.Describe(&after, away+"/evil")
					if st.Exit != 0 || out != "both\n" {
						t.Errorf("%+v %q", st, out)
					}
					if before.String() != after.String() {
						t.Errorf("outside of the granted folder there is\n%swant\n%s", after.String(), before.String())
					}
				})
			}
		}
	})
}

// grantedRace asks for changes in good, which is granted, by names that lead to the folder evil
// beside it half of the time.
func grantedRace(flip, good string) {
	evil := filepath.Join(filepath.Dir(good), "evil")
	_ = os.Mkdir(good+"/granted", 0o755)
	way := good
	var turn func()
	var names [][2][]byte // each in its normal form and its changed form
	switch flip {
	case "link":
		way = filepath.Join(os.Getenv("WS"), "way")
		turn = changePlaces(way, way+"2", os.Symlink(good, way), os.Symlink(evil, way+"2"))
	case "folder":
		way = good + "/way"
		turn = changePlaces(way, good+"/swap", os.Symlink(evil+"/way", good+"/swap"))
	case "memory":
		turn = func() {
			for _, n := range names {
				copy(n[0], n[1])
				copy(n[0], strings.Replace(string(n[1]), "/evil", "/good", 1))
			}
		}
	}
	name := func(last string) uintptr {
		now := append([]byte(way+last), 0)
		if flip == "memory" {
			names = append(names, [2][]byte{now, []byte(strings.Replace(string(now), "/good", "/evil", 1))})
		}
		return uintptr(unsafe.Pointer(&now[0]))
	}
	calls := racingCalls(name)
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		runtime.LockOSThread()
		for !stop.Load() {
			turn()
		}
	})
	var allowed, refused bool
	end := time.Now().Add(raceTime())
	for patience := end.Add(time.Minute); time.Now().Before(end) || !(allowed && refused) && time.Now().Before(patience); {
		for _, call := range calls {
			switch err := call(); err {
			case nil:
				allowed = true
			case unix.EPERM, unix.EACCES:
				refused = true
			}
		}
	}
	stop.Store(true)
	wg.Wait()
	if allowed && refused {
		fmt.Println("both")
	}
}

// changePlaces exchanges two names.
func changePlaces(a, b string, made ...error) func() {
	for _, err := range made {
		if err != nil {
			fmt.Println(err)
		}
	}
	return func() { _ = unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE) }
}

// racingCalls are ways to change what is under a name. The names' memory stays in place, so that
// another thread can change it meanwhile.
func racingCalls(name func(last string) uintptr) []func() error {
	f, g, made, folder, link, itself := name("/f"), name("/g"), name("/new"), name("/m"), name("/l"), name("")
	open := func(path uintptr, flags int) func() error {
		return func() error {
			fd, _, errno := unix.Syscall6(unix.SYS_OPENAT, cwd, path, uintptr(flags|unix.O_CLOEXEC), 0o600, 0, 0)
			if errno != 0 {
				return errno
			}
			_, _ = unix.Write(int(fd), []byte("changed"))
			return unix.Close(int(fd))
		}
	}
	call := func(nr uintptr, args ...uintptr) func() error { return func() error { return raw(nr, args...) } }
	how := &unix.OpenHow{Flags: unix.O_WRONLY | unix.O_CREAT | unix.O_CLOEXEC, Mode: 0o600}
	return []func() error{
		open(f, unix.O_WRONLY|unix.O_TRUNC), open(f, unix.O_WRONLY|unix.O_APPEND), open(made, unix.O_CREAT|unix.O_RDWR), open(itself, unix.O_TMPFILE|unix.O_RDWR),
		func() error {
			fd, _, errno := unix.Syscall6(unix.SYS_OPENAT2, cwd, made, uintptr(unsafe.Pointer(how)), unsafe.Sizeof(*how), 0, 0)
			if errno != 0 {
				return errno
			}
			return unix.Close(int(fd))
		},
		call(unix.SYS_TRUNCATE, f, 2), call(unix.SYS_MKDIRAT, cwd, folder, 0o700), call(unix.SYS_UNLINKAT, cwd, folder, unix.AT_REMOVEDIR),
		call(unix.SYS_RENAMEAT2, cwd, f, cwd, g, 0), call(unix.SYS_RENAMEAT2, cwd, g, cwd, f, 0),
		call(unix.SYS_LINKAT, cwd, f, cwd, g, 0), call(unix.SYS_UNLINKAT, cwd, g, 0), call(unix.SYS_UNLINKAT, cwd, made, 0),
		call(unix.SYS_SYMLINKAT, at("f"), cwd, link), call(unix.SYS_UNLINKAT, cwd, link, 0), call(unix.SYS_MKNODAT, cwd, link, unix.S_IFREG|0o600, 0),
		call(unix.SYS_FCHMODAT, cwd, f, 0o666), call(unix.SYS_FCHOWNAT, cwd, f, uintptr(os.Getuid()), ^uintptr(0), 0),
		call(unix.SYS_UTIMENSAT, cwd, f, uintptr(unsafe.Pointer(&stamps[0])), 0),
		call(unix.SYS_SETXATTR, f, at("user.codeagent"), uintptr(unsafe.Pointer(&value[0])), 1, 0),
	}
}
