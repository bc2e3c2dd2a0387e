//go:build linux

package attack

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"codeagent/internal/machine"

	"golang.org/x/sys/unix"
)

// Image is the name of the image that NewPodman makes.
const Image = "localhost/codeagent-test"

// inImage are the programs of the image, beside the test binary.
var inImage = []string{"bash", "sh", "cat", "cp", "chmod", "date", "dd", "echo", "env", "false", "find", "grep", "head", "id", "ln", "ls", "mkdir", "mkfifo", "mv", "od", "perl", "printf",
	"ps", "pwd", "readlink", "rm", "sed", "seq", "setsid", "sleep", "sort", "stat", "stty", "sync", "tail", "tee", "timeout", "touch", "tr", "true", "tty", "uname", "wc", "whoami", "xargs"}

// NewPodman gives this process a podman of its own, without a registry: its images and containers are in a folder that is
// removed when the test ends, and by then no container may be left. Nothing is mounted outside the containers, so that a
// test that is killed leaves files alone. It skips the test where podman runs no containers.
func NewPodman(t testing.TB) (program string) {
	t.Helper()
	program, err := LookIn(Path, "podman")
	const what = "running a container with podman"
	if err != nil {
		machine.Trial{What: what, Do: func(testing.TB) error { return err }}.Require(t)
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("p%x", time.Now().UnixNano()&0xffffff)) // podman takes 50 characters
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	podman := func(args ...string) error {
		ctx, stop := context.WithTimeout(context.Background(), time.Minute)
		defer stop()
		return RunPodman(ctx, dir, append([]string{program}, args...))
	}
	t.Cleanup(func() {
		if left := FirstProcesses(dir); len(left) > 0 {
			t.Errorf("containers are left, with the processes %d", left)
		}
		_ = podman("rm", "--all", "--force", "--time", "0")
		endAll(dir)
		RemoveAll(dir)
	})
	// Another machine's containers.conf may name what is not there, and a container's rights may not raise limits. runc works
	// also with control groups of both versions together.
	var files unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &files)
	conf := fmt.Sprintf("[containers]\ndefault_ulimits = [\"nofile=%d:%[1]d\", \"nproc=1024:1024\"]\n[engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"none\"\nruntime = \"runc\"\n", files.Max)
	script := fmt.Sprintf("#!/bin/sh\nexec %s --root %s/i --runroot %[2]s/r --tmpdir %[2]s/t --storage-driver vfs \"$@\"\n", program, dir)
	program = dir + "/podman"
	if err := errors.Join(machine.WriteProgram(program, []byte(script)), os.WriteFile(dir+"/containers.conf", []byte(conf), 0o644)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CONTAINERS_CONF", dir+"/containers.conf")
	t.Setenv("XDG_RUNTIME_DIR", dir)
	machine.Trial{What: what, Do: func(testing.TB) error {
		if err := writeImage(dir + "/image.tar"); err != nil {
			return err
		}
		if err := podman("import", dir+"/image.tar", Image); err != nil {
			return err
		}
		return podman("run", "--rm", "--pull", "never", "--network", "none", "--ipc", "none", Image, "/bin/sh", "-c", "true")
	}}.Require(t)
	return program
}

// RunPodman runs a command line of podman in the folder dir.
func RunPodman(ctx context.Context, dir string, argv []string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// FirstProcesses are those of codeagent's containers whose files are in the folder.
func FirstProcesses(folder string) []int {
	started := processesWith("cmdline", "\x00--container\x00")
	return slices.DeleteFunc(processesWith("mountinfo", folder), func(pid int) bool { return !slices.Contains(started, pid) })
}

// processesWith are those with a text in the file of /proc.
func processesWith(file, text string) (pids []int) {
	paths, _ := filepath.Glob("/proc/[0-9]*/" + file)
	for _, path := range paths {
		if data, _ := os.ReadFile(path); bytes.Contains(data, []byte(text)) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// endAll ends what podman has left running for the folder: what waits for containers, and for a user also what holds the
// user namespace.
func endAll(folder string) {
	for _, pid := range slices.Concat(processesWith("cmdline", folder), processesWith("environ", folder)) {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		if unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil {
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 10_000)
		}
		unix.Close(fd)
	}
}

var library = regexp.MustCompile(`(/\S+) \(0x`)

// writeImage writes a root file system: programs of this machine with their libraries, and this test binary at its own path.
func writeImage(path string) error {
	files := map[string]string{os.Args[0]: "/proc/self/exe"}
	for _, name := range inImage {
		program, err := LookIn(Path, name)
		if err != nil {
			continue
		}
		files["/usr/bin/"+name] = program
		list := exec.Command(program)
		list.Env = []string{"LD_TRACE_LOADED_OBJECTS=1"} // see ld.so(8); a static program only has no arguments
		libraries, _ := list.Output()
		for _, m := range library.FindAllStringSubmatch(string(libraries), -1) {
			files[m[1]] = m[1]
		}
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := tar.NewWriter(f)
	for _, dir := range []string{"etc", "home", "tmp", "usr", "usr/bin", "var", "var/tmp"} {
		err = errors.Join(err, w.WriteHeader(&tar.Header{Name: dir, Typeflag: tar.TypeDir, Mode: 0o755}))
	}
	err = errors.Join(err, w.WriteHeader(&tar.Header{Name: "bin", Typeflag: tar.TypeSymlink, Linkname: "usr/bin"}))
	for name, source := range files {
		data, bad := os.ReadFile(source)
		err = errors.Join(err, bad, w.WriteHeader(&tar.Header{Name: strings.TrimPrefix(filepath.Clean(name), "/"), Mode: 0o755, Size: int64(len(data))}))
		_, bad = io.Copy(w, bytes.NewReader(data))
		err = errors.Join(err, bad)
	}
	return errors.Join(err, w.Close())
}
