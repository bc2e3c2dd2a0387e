//go:build linux

package escapes

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"time"
	"unsafe"

	"codeagent/sandbox/protect/protecttest"

	"golang.org/x/sys/unix"
)

var errLost = errors.New("the race was not won")

// race is a row in which one thread swaps a folder of the workspace with a link to one outside,
// while another changes what it finds under that name.
func race(name, weakness string, change func(p place) error, won func(p place) bool) attempt {
	return attempt{
		name: "race: " + name, escape: "E7", protects: "files outside the write roots", weakness: weakness, race: true,
		do: func(p place) error {
			err := errors.Join(os.Mkdir(p.in+"/d", 0o755), os.WriteFile(p.in+"/d/file", []byte("mine"), 0o644), os.Symlink(p.out+"/dir", p.in+"/l"))
			if err != nil {
				return err
			}
			stop := make(chan struct{})
			defer close(stop)
			go flip(p.in+"/d", p.in+"/l", stop)
			return until(p, change, won)
		},
	}
}

// flip exchanges two names until it is stopped.
func flip(a, b string, stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
			_ = unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
		}
	}
}

// until repeats change until the race is won or its time is over.
func until(p place, change func(p place) error, won func(p place) bool) error {
	end := time.Now().Add(time.Duration(p.Millis) * time.Millisecond)
	for n := 0; ; n++ {
		_ = change(p)
		if n%32 != 0 {
			continue
		}
		if won(p) {
			return nil
		}
		if time.Now().After(end) {
			return errLost
		}
	}
}

// openOnly opens path and closes it.
func openOnly(path string, flags int) error {
	return withFD(path, flags, func(int) error { return nil })
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// raceEscapes succeed against a supervisor that checks first and acts later.
func raceEscapes() []attempt {
	gone := func(p place) bool { return !there(p.out + "/dir/file") }
	return []attempt{
		race("create", "", func(p place) error { return writeTo(p.in+"/d/new", unix.O_WRONLY|unix.O_CREAT) },
			func(p place) bool { return there(p.out + "/dir/new") }),
		race("overwrite", "", func(p place) error { return writeTo(p.in+"/d/file", unix.O_WRONLY) },
			func(p place) bool { data, _ := os.ReadFile(p.out + "/dir/file"); return string(data) == "changed" }),
		race("truncate", "", func(p place) error { return unix.Truncate(p.in+"/d/file", 0) },
			func(p place) bool { info, err := os.Stat(p.out + "/dir/file"); return err == nil && info.Size() == 0 }),
		race("unlink", "", func(p place) error { return unix.Unlink(p.in + "/d/file") }, gone),
		race("rename", "", func(p place) error { return unix.Rename(p.in+"/d/file", p.in+"/d/moved") }, gone),
		race("mkdir", "", func(p place) error { return unix.Mkdir(p.in+"/d/made", 0o755) },
			func(p place) bool { return there(p.out + "/dir/made") }),
		race("rename onto", "", func(p place) error {
			_ = os.WriteFile(p.in+"/planted", []byte("changed"), 0o644)
			return unix.Rename(p.in+"/planted", p.in+"/d/file")
		}, func(p place) bool { data, _ := os.ReadFile(p.out + "/dir/file"); return string(data) == "changed" }),
		race("exchange", "", func(p place) error {
			_ = os.WriteFile(p.in+"/planted", []byte("changed"), 0o644)
			return unix.Renameat2(unix.AT_FDCWD, p.in+"/planted", unix.AT_FDCWD, p.in+"/d/file", unix.RENAME_EXCHANGE)
		}, func(p place) bool { data, _ := os.ReadFile(p.out + "/dir/file"); return string(data) == "changed" }),
		race("create by an open to read", "", func(p place) error { return openOnly(p.in+"/d/new", unix.O_RDONLY|unix.O_CREAT) },
			func(p place) bool { return there(p.out + "/dir/new") }),
		race("empty by an open to read", "", func(p place) error { return openOnly(p.in+"/d/file", unix.O_RDONLY|unix.O_TRUNC) },
			func(p place) bool { info, err := os.Stat(p.out + "/dir/file"); return err == nil && info.Size() == 0 }),
		raceOfFlags(),
		race("symlink", "", func(p place) error { return unix.Symlink("x", p.in+"/d/linked") },
			func(p place) bool { return there(p.out + "/dir/linked") }),
		race("mkfifo", "", func(p place) error { return unix.Mkfifo(p.in+"/d/pipe", 0o644) },
			func(p place) bool { return there(p.out + "/dir/pipe") }),
		race("link", "", func(p place) error { return unix.Link(p.in+"/mine", p.in+"/d/linked") },
			func(p place) bool { return there(p.out + "/dir/linked") }),
		race("chmod", "metadata", func(p place) error { return unix.Chmod(p.in+"/d/file", 0o777) },
			func(p place) bool { return mode(p.out+"/dir/file") == 0o777 }),
		race("utimes", "metadata", func(p place) error { return unix.UtimesNanoAt(unix.AT_FDCWD, p.in+"/d/file", longAgo, 0) },
			func(p place) bool {
				info, err := os.Stat(p.out + "/dir/file")
				return err == nil && info.ModTime().Unix() == 9
			}),
		race("setxattr", "metadata", func(p place) error { return unix.Setxattr(p.in+"/d/file", "user.planted", []byte("x"), 0) },
			func(p place) bool {
				n, err := unix.Getxattr(p.out+"/dir/file", "user.planted", make([]byte, 8))
				return err == nil && n == 1
			}),
		connectRace(),
		ancestorRace(),
	}
}

func mode(path string) os.FileMode {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Mode().Perm()
}

// connectRace swaps the name of a socket with that of a service outside while another thread
// connects (E37).
func connectRace() attempt {
	a := reaches("race: connect", "E37", "services behind path sockets", func(p place, t []byte) error {
		err := errors.Join(os.Mkdir(p.in+"/d", 0o755), os.Symlink(p.out, p.in+"/l"))
		if err != nil {
			return err
		}
		stop := make(chan struct{})
		defer close(stop)
		go flip(p.in+"/d", p.in+"/l", stop)
		won := false
		return until(p, func(p place) error {
			err := sends(unix.AF_UNIX, unix.SOCK_STREAM, 0, &unix.SockaddrUnix{Name: p.in + "/d/s"}, t)
			won = won || err == nil
			return err
		}, func(place) bool { return won })
	})
	a.race, a.before = true, func(h *host, p place) { h.serve("unix", p.out+"/s") }
	return a
}

// ancestorRace moves the folder of a nested repository back and forth while a hook is written under
// its name (E11).
func ancestorRace() attempt {
	a := protected("race: an ancestor of hooks renamed during a write", "E11", "sub/.git/hooks", func(p place) error {
		if err := os.MkdirAll(p.in+"/other/.git/hooks", 0o755); err != nil {
			return err
		}
		stop := make(chan struct{})
		defer close(stop)
		go flip(p.in+"/sub", p.in+"/other", stop)
		hook := "/.git/hooks/pre-commit"
		return until(p, func(p place) error { return writeTo(p.in+"/sub"+hook, unix.O_WRONLY|unix.O_CREAT) },
			func(p place) bool { return there(p.in+"/sub"+hook) && there(p.in+"/other"+hook) })
	})
	a.race = true
	return a
}

// pipe creates a named pipe and holds both ends.
func (h *host) pipe(path string) int {
	h.t.Helper()
	err := unix.Mkfifo(path, 0o666)
	fd := -1
	if err == nil {
		fd, err = unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { unix.Close(fd) })
	return fd
}

func waitByte(fd int) error {
	_, err := unix.Read(fd, make([]byte, 1))
	return err
}

// duringEscapes change protected files right after the host has changed them too: the kernel
// removes a mount on a name when the host renames over it.
func duringEscapes() []attempt {
	during := func(name, path string, change func(p place) error) attempt {
		a := protected("after the host's "+name, "E26", path, func(p place) error {
			if err := writeTo(p.in+"/ready", unix.O_WRONLY); err != nil {
				return err
			}
			if err := withFD(p.in+"/go", unix.O_RDONLY, waitByte); err != nil {
				return err
			}
			return made(path)(p)
		})
		a.alone = true
		a.before = func(h *host, p place) {
			repository(h, p)
			ready, goOn := h.pipe(p.in+"/ready"), h.pipe(p.in+"/go")
			changed := make(chan error, 1)
			h.hosts[p.in] = func() error {
				// This is for a victim that never got that far.
				_, _ = unix.Write(ready, []byte("x"))
				return <-changed
			}
			go func() {
				err := errors.Join(waitByte(ready), change(p))
				_, bad := unix.Write(goOn, []byte("x"))
				changed <- errors.Join(err, bad)
			}()
		}
		a.landed = func(h *host, p place) bool {
			if err := h.hosts[p.in](); err != nil {
				h.t.Errorf("the host's own change: %v", err)
			}
			data, err := os.ReadFile(p.in + "/" + path)
			return err == nil && string(data) == "evil\n"
		}
		return a
	}
	save := func(path string) func(p place) error {
		return func(p place) error {
			full := p.in + "/" + path
			return errors.Join(os.WriteFile(full+"~", []byte("saved\n"), 0o644), os.Rename(full+"~", full))
		}
	}
	shell := protecttest.In("{shell}")
	return []attempt{
		during("git config", ".git/config", func(p place) error {
			if out, err := exec.Command("git", "-C", p.in, "config", "user.name", "host").CombinedOutput(); err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			return nil
		}),
		during("atomic save", shell, save(shell)),
		during("atomic save of a hook", ".git/hooks/pre-commit", save(".git/hooks/pre-commit")),
		during("new folder of hooks", ".git/hooks/pre-commit", func(p place) error {
			return errors.Join(os.Rename(p.in+"/.git/hooks", p.in+"/.git/hooks-old"), os.Mkdir(p.in+"/.git/hooks", 0o755))
		}),
	}
}

// raceOfFlags changes the flags of an openat2, which lie in memory, while the call is made.
func raceOfFlags() attempt {
	return attempt{
		name: "race: empty by flags that change", escape: "E7", protects: "files outside the write roots", race: true,
		do: func(p place) error {
			var how [3]atomic.Uint64 // struct open_how
			stop := make(chan struct{})
			defer close(stop)
			go func() {
				for n := uint64(0); ; n++ {
					select {
					case <-stop:
						return
					default:
						how[0].Store(n % 2 * unix.O_TRUNC)
					}
				}
			}()
			return until(p, func(p place) error {
				fd, err := unix.Openat2(unix.AT_FDCWD, p.out+"/dir/file", (*unix.OpenHow)(unsafe.Pointer(&how)))
				if err == nil {
					unix.Close(fd)
				}
				return err
			}, func(p place) bool { info, err := os.Stat(p.out + "/dir/file"); return err == nil && info.Size() == 0 })
		},
	}
}
