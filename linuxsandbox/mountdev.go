//go:build linux

package linuxsandbox

import (
	"os"
	"strings"

	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"

	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// A command with mounts gets a /dev with nothing in it but what its policy opens:
// disks, other people's terminals and the sockets of system services are not even
// there to be tried.

// devLinks stand in every /dev.
var devLinks = map[string]string{
	"ptmx": "pts/ptmx", "fd": "/proc/self/fd",
	"stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
}

// planDevices asks for a /dev of its own, with what the rules open.
func (m *mountPlan) planDevices(rules []spec.Rule) {
	if !present(kernel.DevDir) || sandbox.CoveredBy(m.denied, kernel.DevDir) {
		return
	}
	m.Devices = true
	for _, rule := range rules {
		opens := rule.Access == spec.AccessDevice || rule.Access == spec.AccessRead && !sandbox.Covers(kernel.ShmDir, rule.Path)
		if opens && sandbox.Covers(kernel.DevDir, rule.Path) {
			m.show(rule.Path)
		}
	}
}

// showTerminal keeps the first terminal among files in sight: a program asks for
// the name of its own. /dev/pts holds the command's own terminals, so one that
// lies there on the host is shown under another name. Landlock opens it under
// neither: what the command has of it are its files and /dev/tty.
func (m *mountPlan) showTerminal(files ...*os.File) {
	for _, f := range files {
		if f == nil {
			continue
		}
		if _, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS); err != nil {
			continue
		}
		if path := kernel.PathOf(int(f.Fd())); sandbox.Covers(kernel.PtsDir, path) {
			m.Console = []string{path}
		} else {
			m.show(path)
		}
		return
	}
}

// newDev puts the new /dev over the machine's, which is read-only by now. It is
// writable until what belongs into it is there.
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

// closeDev makes the new /dev itself read-only; what is mounted in it stays as
// it is.
func (m *mounter) closeDev() error {
	if !m.plan.Devices {
		return nil
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	return os.NewSyscallError("mount_setattr", unix.MountSetattr(unix.AT_FDCWD, kernel.DevDir, 0, &attr))
}
