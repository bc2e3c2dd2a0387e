package draft_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"codeagent/draft"
	"codeagent/exec"
	"codeagent/internal/attack"

	"golang.org/x/sys/unix"
)

// look runs a script on a draft that records what it looks up.
func (p *place) look(t *testing.T, script string) *draft.Draft {
	t.Helper()
	time.Sleep(30 * time.Millisecond) // else what the test made looks as if it changed during the run
	argv := []string{"/bin/sh", "-c", script}
	d, err := draft.New(p.drafts, p.ws, argv, p.policy)
	if err != nil {
		t.Fatal(err)
	}
	o, err := p.runner.Run(t.Context(), p.policy, exec.Command{Argv: argv, Dir: p.ws, Timeout: time.Minute, Draft: d, Looked: d.Looked}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if o.Failed() {
		t.Logf("%s: %+v: %s", script, o.Status, o.Output.Text())
	}
	return d
}

// TestReadSet: a draft is stale as soon as something changes that its command looked up, however it did.
func TestReadSet(t *testing.T) {
	p := newPlace(t)
	at := func(name string) string { return filepath.Join(p.ws, name) }
	write := func(name, text string) func() error {
		return func() error { return os.WriteFile(at(name), []byte(text), 0o644) }
	}
	program := func(path, text string) error {
		if err := os.WriteFile(path+".new", []byte(text), 0o755); err != nil {
			return err
		}
		return os.Rename(path+".new", path)
	}
	setUp := func() {
		t.Helper()
		for _, name := range []string{"d", "d/e", "bin", "bin/sub"} {
			_ = os.Mkdir(at(name), 0o755)
		}
		_ = os.Remove(at("absent"))
		_ = os.Remove(at("d/new"))
		_ = os.Remove(at("link"))
		for name, text := range map[string]string{"a": "a", "b": "b", "d/x": "x", "d/e/y": "y"} {
			if err := write(name, text)(); err != nil {
				t.Fatal(err)
			}
		}
		_ = os.Remove(at("into"))
		_ = os.Remove(at("d/absent"))
		if err := errors.Join(os.Symlink("a", at("link")), os.Symlink("bin", at("into"))); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"bin/prog": "#!/bin/sh\necho 1\n", "bin/interpreted": "#!" + at("bin/interpreter") + "\n"} {
			if err := program(at(name), text); err != nil {
				t.Fatal(err)
			}
		}
		sh, err := os.ReadFile("/bin/sh")
		if err == nil {
			err = program(at("bin/interpreter"), string(sh))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		what, script string
		change       func() error
		stale        bool
	}{
		{"nothing", "cat a d/x >/dev/null; ls d; test -e absent", func() error { return nil }, false},
		{"a file that it did not look up", "cat a", write("d/e/y", "z"), false},
		{"what it made itself", "echo 1 >new; cat new; rm new; mkdir m; ls m", func() error { return nil }, false},
		{"a new entry of a folder that it does not list", "cat a; cd d; test -d e; test -e x", write("d/new", ""), false},
		{"content", "cat a", write("a", "A"), true},
		{"times alone", "cat a", func() error { return os.Chtimes(at("a"), time.Now(), time.Now()) }, true},
		{"content by a link", "cat link", write("a", "A"), true},
		{"where a link leads", "cat link", func() error {
			_ = os.Remove(at("link"))
			return os.Symlink("b", at("link"))
		}, true},
		{"by a descriptor's name", "cat /proc/self/cwd/a", write("a", "A"), true},
		{"an absent one by a descriptor's name", "cat /proc/self/cwd/absent", write("absent", "A"), true},
		{"above", "cd d/e; cat ../../a ../x", write("a", "A"), true},
		{"an entry of a listed folder", "ls d", write("d/new", ""), true},
		{"an absent name", "test -e absent", write("absent", ""), true},
		{"an absent name, removed", "rm absent", write("absent", ""), true},
		{"a name that it makes and removes", "echo x >absent; rm absent", write("absent", ""), true},
		{"a link in the path of a new file", "ln -sfn d link; echo x >link/absent", func() error { return nil }, false},
		{"a link in the path of a new file, led elsewhere", "echo x >bin/../into/absent", func() error {
			_ = os.Remove(at("into"))
			return os.Symlink("d", at("into"))
		}, true},
		{"an absent name, executed", "bin/absent", write("bin/absent", ""), true},
		{"a name in an absent folder", "cat none/absent", func() error { return os.MkdirAll(at("none/absent"), 0o755) }, true},
		{"a file that is there, by stat", "test -s b", write("b", ""), true},
		{"a program", "bin/prog", func() error { return program(at("bin/prog"), "#!/bin/sh\necho 2\n") }, true},
		{"an interpreter", "bin/interpreted", func() error { return program(at("bin/interpreter"), "x") }, true},
		{"a folder that it enters", "cd d/e && pwd", func() error { return os.RemoveAll(at("d/e")) }, true},
		{"an existing folder", "mkdir d", func() error { return os.RemoveAll(at("d")) }, true},
		{"what it read before it wrote it", "cat a >/dev/null; echo x >a", write("a", "A"), true},
		{"a file's mode", "chmod 755 a", func() error { return os.Chmod(at("a"), 0o600) }, true},
	} {
		t.Run(row.what, func(t *testing.T) {
			setUp()
			d := p.look(t, row.script)
			if why := d.Stale(p.changes(t, d)); why != "" {
				t.Fatalf("stale before the change: %s", why)
			}
			time.Sleep(20 * time.Millisecond)
			if err := row.change(); err != nil {
				t.Fatal(err)
			}
			if why := d.Stale(p.changes(t, d)); (why != "") != row.stale {
				t.Errorf("stale %q, want %v", why, row.stale)
			}
			if err := d.Save(); err != nil {
				t.Fatal(err)
			}
			again, err := draft.Open(p.drafts, d.ID())
			if err != nil || (again.Stale(p.changes(t, again)) != "") != row.stale {
				t.Errorf("opened again: %v", err)
			}
		})
	}
	plain, _ := p.try(t.Context(), t, "/bin/true")
	if plain.Stale(nil) == "" {
		t.Error("a draft without a read set is not stale")
	}
	many := p.look(t, "i=0; while [ $i -lt 20100 ]; do i=$((i+1)); test -e n$i; done")
	if why := many.Stale(nil); !strings.Contains(why, "more names") {
		t.Errorf("too many names: %q", why)
	}
}

// envHidden names the file that hide opens, in a process of TestMain.
const envHidden = "DRAFT_TEST_HIDDEN"

// hide opens a file by a name in a mapping that can only be written, and then by none.
func hide(name string) error {
	page, err := unix.Mmap(-1, 0, unix.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	at := unix.AT_FDCWD
	if copy(page, name); os.Getenv(envHidden+"_SEEN") == "" {
		err = unix.Mprotect(page, unix.PROT_WRITE)
	}
	if _, _, errno := unix.Syscall6(unix.SYS_OPENAT, uintptr(at), uintptr(unsafe.Pointer(&page[0])), unix.O_RDONLY, 0, 0, 0); err == nil && errno != 0 {
		err = errno
	}
	if _, _, errno := unix.Syscall6(unix.SYS_OPENAT, uintptr(at), 0, unix.O_RDONLY, 0, 0, 0); errno != unix.EFAULT {
		err = errors.Join(err, fmt.Errorf("a name at address 0: %v", errno))
	}
	return err
}

// TestHiddenName: the kernel opens a file by a name that the broker cannot read. The draft then has not seen all.
func TestHiddenName(t *testing.T) {
	p := newPlace(t)
	name := filepath.Join(p.ws, "a")
	probe := filepath.Join(p.ws, "probe")
	attack.CopyFile(t, os.Args[0], probe)
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	run := envHidden + "=" + name + " " + probe + " && echo opened >" + p.ws + "/out"
	for _, seen := range []string{"yes", ""} {
		d := p.look(t, envHidden+"_SEEN="+seen+" "+run)
		changes := p.changes(t, d)
		if len(changes) != 1 {
			t.Fatalf("the file was not opened: %+v", changes)
		}
		if why := d.Stale(changes); (why == "") != (seen != "") {
			t.Errorf("the name can be read: %q; stale: %q", seen, why)
		}
	}
}
