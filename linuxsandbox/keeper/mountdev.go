//go:build linux

package keeper

import (
	"os"
	"strings"

	"codeagent/linuxsandbox/spec"

	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// A command with mounts gets a /dev with only what its policy opens. Disks, other users' terminals
// and the sockets of system services have no name there.

// devLinks are the links that every /dev has.
var devLinks = map[string]string{
	"ptmx": "pts/ptmx", "fd": "/proc/self/fd",
	"stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
}

// newDev mounts the new /dev over the machine's, which is read-only by now. The new one stays
// writable until closeDev.
func (m *mounter) newDev() error {
	if !m.plan.Devices {
		return nil
	}
	terminals, err := takeAll(m.plan.Console)
	if err != nil {
		return err
	}
	const attrs = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC
	fd, err := newFilesystem("tmpfs", attrs, "mode=755")
	if err != nil {
		return err
	}
	for _, dir := range []string{kernel.ShmDir, kernel.PtsDir} {
		if err == nil {
			err = makeEntry(fd, strings.TrimPrefix(dir, kernel.DevDir+"/"), true)
		}
	}
	for name, target := range devLinks {
		if err == nil {
			err = unix.Symlinkat(target, fd, name)
		}
	}
	if err == nil && len(terminals) > 0 {
		err = makeEntry(fd, strings.TrimPrefix(spec.ConsoleDev, kernel.DevDir+"/"), false)
	}
	if err != nil {
		unix.Close(fd)
		return &os.PathError{Op: "furnish", Path: kernel.DevDir, Err: err}
	}
	err = tree{fd: fd, path: kernel.DevDir, dir: true}.putAt(kernel.DevDir)
	for _, t := range terminals {
		if err == nil {
			err = t.putAt(spec.ConsoleDev)
		}
	}
	return err
}

// closeDev makes the new /dev itself read-only, but nothing mounted in it.
func (m *mounter) closeDev() error {
	if !m.plan.Devices {
		return nil
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	return os.NewSyscallError("mount_setattr", unix.MountSetattr(unix.AT_FDCWD, kernel.DevDir, 0, &attr))
}
