//go:build linux

package linuxsandbox

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"syscall"
	"unsafe"

	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/netns"
	"codeagent/linuxsandbox/spec"

	"golang.org/x/sys/unix"
)

// A process with more than one thread, such as codeagent, cannot join a user namespace (setns(2)).
// So a child joins it and starts a keeper with namespaces as another child of codeagent
// (CLONE_PARENT):
//
//	codeagent ── vfork ──▶ joins the session's user and network namespaces
//	    ▲                     │ vfork, with mount, PID and IPC namespace
//	    └──── parent ───── keeper, PID 1, with capabilities over its own mounts
//
// Neither child copies memory or writes a uid map, which halves the time. The first keeper of a
// session is cloned into new namespaces (cloneKeeper), which the others join.

// keeperNamespaces are created for every command, together with a PID namespace where a /proc can
// be mounted for it.
const keeperNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWIPC

// keeperCaps are the capabilities that an ordinary user's keeper retains across its exec, in its
// own user namespace: it needs them to mount and then to empty its bounding set. Overlayfs works with those of
// who mounted it, in a work folder that it makes without permissions (ovl_workdir_create). They hold over files of
// this user alone, who could change these permissions too.
var keeperCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_DAC_OVERRIDE}

// namespaces are the namespaces that a keeper joins.
type namespaces struct {
	user, net, mount int // descriptors; -1: none
	// newNet means that the keeper gets a network namespace, as the first of its session.
	newNet bool
	// opens means that the keeper sets up the network namespace that it joins.
	opens bool
	// hostPIDs means that the keeper gets no PID namespace.
	hostPIDs bool
}

// joinedBy returns what a keeper with this Spec joins; nil if it has no namespaces.
func (b *Backend) joinedBy(s *spec.Spec) *namespaces {
	if s.Mounts == nil {
		return nil
	}
	j := &namespaces{user: b.namespaces.User, net: b.namespaces.Net, mount: b.view.namespace(), hostPIDs: s.Mounts.HostProc}
	if s.HostNet == 0 {
		j.net = -1
	}
	return j
}

// forkKeeper starts the helper from the descriptor image. files become its descriptors from 0 on.
// If outer is set, it is the command line of a program that starts the helper. folder is the descriptor of the control
// group in which the helper is born; -1: codeagent's. If join is set, the helper is the first process of new namespaces, created inside the joined ones.
func forkKeeper(image int, join *namespaces, files []int, setsid bool, outer []string, folder int) (int, error) {
	// The child's copies must not overwrite a file that it still needs.
	high := make([]int, 0, len(files)+1)
	defer func() {
		for _, fd := range high {
			unix.Close(fd)
		}
	}()
	for _, fd := range append(files, image) {
		fd, err := kernel.DupAbove(fd, len(files)+1)
		if err != nil {
			return 0, err
		}
		high = append(high, fd)
	}
	c := &kernel.Child{Name: "vfork", Group: max(folder, 0)}
	if setsid {
		c.Call("session", unix.SYS_SETSID)
	}
	if join != nil && join.user >= 0 {
		keepCaps(c, join.newNet || join.opens)
	}
	root, err := unix.BytePtrFromString("/")
	if err != nil {
		return 0, err
	}
	c.Call("directory", unix.SYS_CHDIR, c.Pin(unsafe.Pointer(root)))
	for i := range files {
		c.Call("files", unix.SYS_DUP3, uintptr(high[i]), uintptr(i))
	}
	if outer != nil { // it passes on what it inherits; the copies above are close-on-exec
		files = append(files[:len(files):len(files)], image)
		c.Call("files", unix.SYS_DUP3, uintptr(high[len(files)-1]), uintptr(len(files)-1))
	}
	// In the child, /proc/self is the child. So this works even where codeagent's own /proc entry
	// is not readable.
	path := "/proc/self/fd/" + strconv.Itoa(high[len(high)-1])
	argv := []string{HelperName, spec.KeeperArg}
	if outer != nil {
		path, argv = outer[0], append(slices.Clone(outer), "/proc/self/fd/"+strconv.Itoa(len(files)-1), spec.KeeperArg)
	}
	if err := c.Exec([]string{path}, argv, keeperEnv); err != nil {
		return 0, err
	}
	if join != nil {
		c = join.before(c)
	}
	syscall.ForkLock.Lock() // descriptors made without O_CLOEXEC would stay open in the child
	pid, step, errno := c.Start()
	syscall.ForkLock.Unlock()
	if errno != 0 {
		return 0, os.NewSyscallError(step, errno)
	}
	return pid, nil
}

// cloneKeeper starts the helper like forkKeeper, in the namespaces that it makes.
func cloneKeeper(image int, made *netns.Namespaces, hostPIDs bool, files []int) (int, error) {
	sys := made.Clone(asRoot())
	sys.Cloneflags |= keeperNamespaces
	if !hostPIDs {
		sys.Cloneflags |= unix.CLONE_NEWPID
	}
	if !asRoot() {
		sys.AmbientCaps = append(sys.AmbientCaps, keeperCaps...)
	}
	var fds []uintptr
	for _, fd := range files {
		fds = append(fds, uintptr(fd))
	}
	pid, err := syscall.ForkExec("/proc/self/fd/"+strconv.Itoa(image), []string{HelperName, spec.KeeperArg}, &syscall.ProcAttr{
		Dir: "/", Env: keeperEnv, Sys: sys, Files: fds,
	})
	if errors.Is(err, unix.ENOSPC) { // "no space left on device"
		return 0, errors.New("clone: the sysctls user.max_*_namespaces allow no more")
	}
	return pid, os.NewSyscallError("clone", err)
}

// keepCaps makes the child retain keeperCaps across its exec, where a user other than 0 loses all
// capabilities except the ambient ones. network: with those that set up a network.
func keepCaps(c *kernel.Child, network bool) {
	mask, kept := uint32(0), keeperCaps
	if network {
		kept = append(slices.Clone(kept), netns.Caps...)
	}
	for _, one := range kept {
		mask |= 1 << one
	}
	head := &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	caps := &[2]unix.CapUserData{{Effective: mask, Permitted: mask, Inheritable: mask}}
	c.Call("capabilities", unix.SYS_CAPSET, c.Pin(unsafe.Pointer(head)), c.Pin(unsafe.Pointer(caps)))
	for _, one := range kept {
		c.Call("capabilities", unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, one)
	}
}

// before is a child that joins the namespaces and starts keeper in new ones.
func (j *namespaces) before(keeper *kernel.Child) *kernel.Child {
	keeper.Name, keeper.Flags = "clone with new namespaces", keeperNamespaces
	if !j.hostPIDs {
		keeper.Flags |= unix.CLONE_NEWPID
	}
	if j.newNet {
		keeper.Flags |= unix.CLONE_NEWNET
	}
	c := &kernel.Child{Name: "vfork", Next: keeper}
	if j.user >= 0 {
		c.Call("join the user namespace", unix.SYS_SETNS, uintptr(j.user), unix.CLONE_NEWUSER)
	}
	if j.mount >= 0 {
		c.Call("join the draft", unix.SYS_SETNS, uintptr(j.mount), unix.CLONE_NEWNS)
	}
	if j.net >= 0 {
		c.Call("join the network namespace", unix.SYS_SETNS, uintptr(j.net), unix.CLONE_NEWNET)
	}
	return c
}
