//go:build linux

// Package bwrap confines commands with bubblewrap, for machines without Landlock or without seccomp's user notification:
// old kernels, gVisor. It turns a plan's mounts into a command line of bwrap(1), and does nothing else. The keeper that
// bwrap starts tests what bwrap mounted, installs the filter and starts the command (linuxsandbox.Outer).
package bwrap

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"codeagent/hostfile"
	"codeagent/linuxsandbox"
	"codeagent/sandbox"
)

// Name is that of the backend.
const Name = "bwrap"

// New returns the backend that runs program, the absolute path of bwrap.
func New(program string, o linuxsandbox.Options) (*linuxsandbox.Backend, error) {
	return linuxsandbox.NewInside(o, outer(program))
}

// outer is the path of bwrap.
type outer string

func (outer) Name() string { return Name }

// Follows implements linuxsandbox.Outer. With the set-user-ID bit bwrap gives an ordinary user no capability.
func (program outer) Follows() bool {
	info, err := hostfile.Seen(string(program))
	return os.Geteuid() != 0 && (err != nil || info.Mode()&os.ModeSetuid != 0)
}

// maxArguments is less than the number that bwrap takes, 9,000.
const maxArguments = 8900

const (
	dev, proc = "/dev", "/proc"
	shm       = "/dev/shm"
)

// Argv is bwrap's command line. Later mounts cover earlier ones.
func (program outer) Argv(e linuxsandbox.Enclosure) ([]string, error) {
	a := &argv{string(program), "--die-with-parent", "--as-pid-1", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--chdir", "/", "--cap-drop", "ALL"}
	if !e.Root {
		a.add("--unshare-user") // root needs none, and could not write other users' files in one
	}
	if !program.Follows() { // for the keeper alone
		a.add("--cap-add", "CAP_SYS_ADMIN", "--cap-add", "CAP_SETPCAP")
	}
	if e.FileCaps {
		a.add("--cap-add", "CAP_DAC_OVERRIDE", "--cap-add", "CAP_FOWNER", "--cap-add", "CAP_CHOWN")
	}
	if !e.HostNet {
		a.add("--unshare-net")
	}
	shown := a.base(e)
	a.add("--proc", proc, "--remount-ro", proc, "--dev", dev)
	if e.Memory {
		a.add("--perms", "1777", "--tmpfs", shm)
	}
	for _, path := range e.Private {
		a.add("--bind", e.Temp, path)
	}
	a.putBack(e)
	a.add("--remount-ro", dev)
	a.protect(e)
	for _, path := range e.Hidden {
		info, err := hostfile.Lstat(path)
		switch {
		case err != nil || !sandbox.CoveredBy(shown, path):
		case info.IsDir():
			a.add("--perms", "0000", "--tmpfs", path, "--remount-ro", path)
		default:
			a.add("--ro-bind", os.DevNull, path) // where devices cannot be opened (nodev)
		}
	}
	if !slices.Contains(shown, "/") {
		a.add("--remount-ro", "/")
	}
	if len(*a) > maxArguments {
		return nil, fmt.Errorf("what is to be mounted for this policy takes %d arguments, and bwrap takes %d: protect or deny folders instead of the single files in them", len(*a), maxArguments)
	}
	return append(*a, "--"), nil
}

type argv []string

func (a *argv) add(args ...string) { *a = append(*a, args...) }

// base shows what the command may read, and returns what it sees of the host.
func (a *argv) base(e linuxsandbox.Enclosure) (shown []string) {
	if e.ReadsAll || slices.ContainsFunc(e.Read, func(r sandbox.Root) bool { return r.Path == "/" }) {
		a.add("--ro-bind", "/", "/")
		return []string{"/"}
	}
	for _, root := range e.Read {
		link, err := hostfile.OS{}.Readlink(root.Path) // /bin on most systems; what it leads to is shown only by a root of its own
		switch {
		case root.Path == dev || root.Path == proc:
			continue
		case err == nil && root.Optional:
			a.add("--symlink", link, root.Path)
		case root.Optional:
			a.add("--ro-bind-try", root.Path, root.Path)
		default:
			a.add("--ro-bind", root.Path, root.Path)
		}
		shown = append(shown, root.Path)
	}
	return slices.Concat(shown, e.Writable, e.Readable)
}

// putBack binds write roots, and what is shown in a folder that another mount has replaced. A folder on the way there
// that does not exist is made in a file system of its own, which is closed: a command that could rename it could change
// the path by which a file is judged.
func (a *argv) putBack(e linuxsandbox.Enclosure) {
	all := slices.Concat(e.Readable, e.Writable, e.Named)
	slices.Sort(all)
	var there, halls []string
	for _, path := range slices.Compact(all) {
		info, err := hostfile.Lstat(path)
		if err != nil || slices.Contains(linuxsandbox.StandardDevices, path) || slices.Contains(e.Named, path) && !info.Mode().IsRegular() {
			continue
		}
		if base := e.Replaced(path); base != "" && !sandbox.CoveredBy(there, path) {
			first, _, deep := strings.Cut(path[len(base)+1:], "/")
			way := base + "/" + first
			if there = append(there, way); deep {
				a.add("--tmpfs", way)
				halls = append(halls, way)
			}
		}
		bind := "--ro-bind"
		switch {
		case sandbox.Covers(dev, path) && info.Mode()&os.ModeDevice != 0:
			bind = "--dev-bind"
		case slices.Contains(e.Writable, path):
			bind = "--bind"
		}
		a.add(bind, path, path)
	}
	for _, hall := range halls {
		a.add("--remount-ro", hall)
	}
}

// protect pins the folders on the way to protected paths, which can then not be renamed, and makes these read-only. What
// is granted in them is writable again.
func (a *argv) protect(e linuxsandbox.Enclosure) {
	paths := slices.Concat(e.Pins, e.Protected)
	slices.Sort(paths) // outer ones first: a bind of an outer folder would cover what is bound inside it
	for _, path := range slices.Compact(paths) {
		bind := "--bind"
		if slices.Contains(e.Protected, path) {
			bind = "--ro-bind"
		}
		a.add(bind, path, path)
	}
	for _, path := range e.Granted {
		a.add("--bind", path, path)
	}
}
