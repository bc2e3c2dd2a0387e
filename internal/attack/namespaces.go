//go:build linux

package attack

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// clone creates a child that exits at once.
func clone(flags uintptr) error {
	pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, flags|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	if pid == 0 {
		for {
			syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
	_, err := unix.Wait4(int(pid), nil, 0, nil)
	return err
}

// clone3 is clone with its flags in memory (struct clone_args).
func clone3(flags uint64) error {
	args := [11]uint64{0: flags, 4: uint64(unix.SIGCHLD)}
	pid, _, errno := syscall.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0)
	if errno != 0 {
		return errno
	}
	if pid == 0 {
		for {
			syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
	_, err := unix.Wait4(int(pid), nil, 0, nil)
	return err
}

func namespaces() []Attack {
	noUser := []Answer{{unix.EPERM, "this machine gives ordinary users no user namespace, or a container none to anybody"}, {unix.ENOSPC, "no further user namespace is allowed here"}}
	root := []Answer{needsRootOutside}
	return []Attack{
		{Name: "unshare: user namespace", Escape: "E12", Want: unix.EPERM, Bare: noUser, Do: func() error {
			return forkAndCall(unix.SYS_UNSHARE, unix.CLONE_NEWUSER)
		}},
		{Name: "unshare: user and mount namespace", Escape: "E12", Want: unix.EPERM, Bare: noUser, Do: func() error {
			return forkAndCall(unix.SYS_UNSHARE, unix.CLONE_NEWUSER|unix.CLONE_NEWNS)
		}},
		{Name: "unshare: network namespace", Escape: "-", Want: unix.EPERM, Bare: root, Do: func() error {
			return forkAndCall(unix.SYS_UNSHARE, unix.CLONE_NEWNET)
		}},
		{Name: "unshare: time namespace", Escape: "-", Want: unix.EPERM, Bare: append(root, Answer{unix.EINVAL, "this kernel has no time namespaces"}), Do: func() error {
			return forkAndCall(unix.SYS_UNSHARE, unix.CLONE_NEWTIME)
		}},
		{Name: "clone: user namespace", Escape: "E12", Want: unix.EPERM, Bare: noUser, Do: func() error {
			return clone(unix.CLONE_NEWUSER)
		}},
		{Name: "clone: user namespace, flags + 2^32", Escape: "E12", Want: unix.EPERM, Bare: noUser, Do: func() error {
			return clone(unix.CLONE_NEWUSER | 1<<32)
		}},
		{Name: "clone: PID namespace", Escape: "-", Want: unix.EPERM, Bare: root, Do: func() error {
			return clone(unix.CLONE_NEWPID)
		}},
		{Name: "clone3: user namespace", Escape: "E55", Want: unix.ENOSYS, Bare: append(noUser, Answer{unix.ENOSYS, "a container's filter cannot see its flags, and refuses it wholly"}), Do: func() error {
			return clone3(unix.CLONE_NEWUSER)
		}},
		{Name: "setns", Escape: "-", Want: unix.EPERM, Bare: root, Do: func() error {
			f, err := os.Open("/proc/self/ns/net")
			if err != nil {
				return fmt.Errorf("open a namespace: %v", err)
			}
			defer f.Close()
			return call(unix.SYS_SETNS, f.Fd(), 0)
		}},
	}
}

// inPrivateMounts runs f in its own mount namespace where one can be created, so that nobody else
// sees what f mounts on dir.
func inPrivateMounts(f func(dir uintptr) error) func() error {
	return func() error {
		dir, err := os.MkdirTemp(os.Getenv(EnvDir), "mount")
		if err != nil {
			return fmt.Errorf("make a directory: %v", err)
		}
		private := unix.Unshare(unix.CLONE_NEWNS) == nil &&
			unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") == nil
		err = f(uintptr(unsafe.Pointer(cstring(dir))))
		if err == nil && !private {
			_ = unix.Unmount(dir, unix.MNT_DETACH)
		}
		return err
	}
}

const (
	sysOpenTreeAttr = 467
	atEmptyPath     = 0x1000
)

func mounts() []Attack {
	root := []Answer{needsRootOutside}
	here := ^uintptr(99) // AT_FDCWD, -100
	tmpfs, empty, slash := uintptr(unsafe.Pointer(cstring("tmpfs"))), uintptr(unsafe.Pointer(cstring(""))), uintptr(unsafe.Pointer(cstring("/")))
	attr := make([]uint64, 4)
	tree := func() uintptr {
		fd, _ := value(unix.SYS_OPEN_TREE, here, slash, 1)
		return fd
	}
	context := func() uintptr {
		fd, _ := value(unix.SYS_FSOPEN, tmpfs, 0)
		return fd
	}
	created := func() uintptr {
		fd := context()
		_ = call(unix.SYS_FSCONFIG, fd, 6, 0, 0, 0)
		return fd
	}
	mount := func(name string, f func(dir uintptr) error) Attack {
		return Attack{Name: name, Escape: "E55", Want: unix.EPERM, Bare: root, Do: inPrivateMounts(f)}
	}
	attacks := []Attack{
		mount("mount", func(dir uintptr) error { return call(unix.SYS_MOUNT, tmpfs, dir, tmpfs, 0, 0) }),
		mount("umount2", func(dir uintptr) error {
			_ = call(unix.SYS_MOUNT, tmpfs, dir, tmpfs, 0, 0)
			return call(unix.SYS_UMOUNT2, dir, 0)
		}),
		mount("pivot_root", func(dir uintptr) error {
			_ = call(unix.SYS_MOUNT, tmpfs, dir, tmpfs, 0, 0)
			return call(unix.SYS_PIVOT_ROOT, dir, dir)
		}),
		mount("chroot", func(dir uintptr) error { return call(unix.SYS_CHROOT, dir) }),
		mount("open_tree", func(uintptr) error { return call(unix.SYS_OPEN_TREE, here, slash, 1) }),
		mount("open_tree_attr", func(uintptr) error {
			return call(sysOpenTreeAttr, here, slash, 1, uintptr(unsafe.Pointer(&attr[0])), 32)
		}),
		mount("fsopen", func(uintptr) error { return call(unix.SYS_FSOPEN, tmpfs, 0) }),
		mount("fsconfig", func(uintptr) error { return call(unix.SYS_FSCONFIG, context(), 6, 0, 0, 0) }),
		mount("fsmount", func(uintptr) error { return call(unix.SYS_FSMOUNT, created(), 0, 0) }),
		mount("move_mount", func(dir uintptr) error {
			fd, _ := value(unix.SYS_FSMOUNT, created(), 0, 0)
			return call(unix.SYS_MOVE_MOUNT, fd, empty, here, dir, 4)
		}),
		mount("fspick", func(uintptr) error { return call(unix.SYS_FSPICK, here, slash, 0) }),
		mount("mount_setattr", func(uintptr) error {
			attr[0] = 1
			return call(unix.SYS_MOUNT_SETATTR, tree(), empty, atEmptyPath, uintptr(unsafe.Pointer(&attr[0])), 32)
		}),
	}
	for i := range attacks {
		switch attacks[i].Name {
		case "pivot_root":
			attacks[i].Bare = append(attacks[i].Bare, Answer{unix.EINVAL, "nothing could be mounted"})
		case "open_tree_attr":
			attacks[i].Bare = append(attacks[i].Bare, notBuiltIn)
		case "umount2":
			attacks[i].Bare = append(attacks[i].Bare, Answer{unix.EINVAL, "nothing could be mounted"})
		case "fsconfig", "fsmount", "move_mount", "mount_setattr":
			attacks[i].Bare = append(attacks[i].Bare,
				Answer{unix.EBADF, "the call before it takes a capability"}, Answer{unix.EINVAL, "the call before it takes a capability"})
		}
	}
	return attacks
}
