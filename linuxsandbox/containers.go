//go:build linux

package linuxsandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"codeagent/hostfile"
	"codeagent/linuxsandbox/cgroup"
	"codeagent/linuxsandbox/control"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/plan"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"

	"golang.org/x/sys/unix"
)

// Engine runs containers, in which commands are started as long as the session lasts. Its images have another root, but
// what a policy names has the path that it has on the host.
//
//	codeagent ── runs ──▶ engine ──▶ first process of the container (keeper.containerMain)
//	    ▲  ▲── a socket in a folder that is mounted there ──┘ │ forks
//	    └── control socket, listener of the filter ──── keeper of a command
//
// The engine makes namespaces, mounts and the control group. The keeper confines its command as elsewhere, and where
// codeagent may look into the container the broker serves it.
type Engine interface {
	// Name is that of the backend.
	Name() string
	// Run starts a container, which is removed when its first process ends. It returns when that process runs.
	Run(ctx context.Context, o ContainerOrder) error
	// Lacks are the limits that the container was to have and does not.
	Lacks(found spec.Container) []sandbox.Weakness
}

// ContainerOrder is what an Engine runs.
type ContainerOrder struct {
	Name string
	// Binds are sorted by path.
	Binds []Bind
	// HostNet: the container has codeagent's network; else that of the container Join, or an empty one.
	HostNet bool
	Join    string
	// FileCaps: the container has spec.FileCaps.
	FileCaps bool
	// First is the first process with its arguments.
	First []string
}

// Bind is a file or folder of the host in a container.
type Bind struct {
	Path, Source     string
	Writable, Device bool
	// covered: what is at Path may not be read, and is no folder if file is set. An empty one without permissions covers it.
	covered, file bool
	// loose: the policy needs to see it, and whether it is writable there decides the broker.
	loose bool
	// at is what is at Source, or at a path that is covered, now: a file that was replaced needs another container.
	at   spec.Place
	born unix.StatxTimestamp
}

// identify finds out what is at path. The kernel uses numbers of removed files again, but not with the time of their birth.
func (b *Bind) identify(path string) (err error) {
	if b.at, err = spec.PlaceOf(path, b.Path); err != nil {
		return err
	}
	var st unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &st) == nil {
		b.born = st.Btime
	}
	return nil
}

const (
	ownFolder = "/run/codeagent"
	ownHelper = ownFolder + "/helper"
	ownDoor   = ownFolder + "/door"
)

// containers are those of a Backend.
type containers struct {
	engine Engine
	folder string // for the helper and sockets

	mu   sync.Mutex
	all  []*container
	main *container // whose network the others share
}

// container is one that runs.
type container struct {
	name              string
	binds             map[string]Bind
	hostNet, fileCaps bool
	pid, ref          int // of its first process, and a descriptor of it
	found             spec.Container
	group             *cgroup.Group

	mu   sync.Mutex
	sock control.Socket
}

// NewInContainers returns a backend whose commands run in containers of engine. folder is codeagent's own, which no command
// may write and which need not exist. It starts no process.
func NewInContainers(o Options, engine Engine, folder string) (*Backend, error) {
	o.Ahead = false
	b, err := New(o)
	if err == nil {
		b.containers = &containers{engine: engine, folder: folder}
	}
	return b, err
}

// apart are the containers of another session.
func (cs *containers) apart() *containers {
	if cs == nil {
		return nil
	}
	return &containers{engine: cs.engine, folder: cs.folder}
}

// bindsFor are what a command in dir under p must find in its container.
func bindsFor(m *plan.Mounts, p resolved.Policy, dir string) map[string]Bind {
	all := map[string]Bind{}
	put := func(b Bind) {
		info, err := hostfile.Lstat(b.Source)
		if err == nil {
			err = b.identify(b.Source)
		}
		if err == nil && !slices.Contains(StandardDevices, b.Path) { // else an optional root that was removed meanwhile
			b.Device = info.Mode()&fs.ModeDevice != 0
			all[b.Path] = b
		}
	}
	same := func(paths []string, b Bind) {
		for _, path := range paths {
			b.Path, b.Source = path, path
			put(b)
		}
	}
	if real, err := sandbox.Canonical(hostfile.OS{}, "/", "/etc/resolv.conf"); err == nil {
		put(Bind{Path: "/etc/resolv.conf", Source: real})
	}
	named := slices.DeleteFunc(sandbox.PathsOf(p.Read), func(path string) bool { return path == "/" || sandbox.CoveredBy(sandbox.SystemFolders, path) })
	same(named, Bind{})
	same(sandbox.PathsOf(p.WasWrite), Bind{loose: true})
	for _, path := range m.Private {
		put(Bind{Path: path, Source: m.Temp, Writable: true})
	}
	same(m.Readable, Bind{})
	same(m.Writable, Bind{Writable: true})
	same(m.Pins, Bind{Writable: true})
	same(m.Protected, Bind{})
	same(m.Granted, Bind{Writable: true})
	shown := func(path string) bool { return sandbox.CoveredBy(slices.Collect(maps.Keys(all)), path) }
	if dir != "/" && !shown(dir) && !sandbox.CoveredBy(sandbox.SystemFolders, dir) {
		same([]string{dir}, Bind{loose: true})
	}
	for _, path := range m.Hidden {
		info, err := hostfile.Lstat(path)
		b := Bind{Path: path, covered: true}
		if err != nil || b.identify(path) != nil || !shown(path) {
			continue
		}
		b.file = !info.IsDir()
		all[path] = b
	}
	return all
}

// serves reports whether a command can run in c that needs these binds. wide: it may read everything, and a broker decides
// what it writes, so that it may see more.
func (c *container) serves(binds map[string]Bind, wide bool) bool {
	if !wide && len(c.binds) != len(binds) {
		return false
	}
	for path, want := range binds {
		have, ok := c.binds[path]
		want.Writable = want.Writable || wide && want.loose && have.Writable
		have.loose, want.loose = false, false
		if !ok || have != want {
			return false
		}
	}
	return true
}

// enter returns the container of a command, which it starts if none that runs serves it.
func (cs *containers) enter(ctx context.Context, helper int, o ContainerOrder, binds map[string]Bind, wide bool) (*container, error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, c := range cs.all {
		if c.hostNet == o.HostNet && c.fileCaps == o.FileCaps && c.serves(binds, wide) && (c == cs.main || c.lives()) {
			return c, nil
		}
	}
	o.Name = "codeagent-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	if cs.main != nil {
		o.Join = cs.main.name
	}
	c := &container{name: o.Name, binds: binds, hostNet: o.HostNet, fileCaps: o.FileCaps}
	for _, path := range slices.Sorted(maps.Keys(binds)) {
		o.Binds = append(o.Binds, binds[path])
	}
	if err := cs.start(ctx, c, helper, o); err != nil {
		return nil, err
	}
	if cs.main == nil {
		cs.main = c
	}
	cs.all = append(cs.all, c)
	return c, nil
}

// enginePatience is how long a container may take to start.
const enginePatience = time.Minute

// start runs the engine until the first process of the container has connected.
//
// Threat: whoever connects gets the files of commands. The folder of the socket is codeagent's own and mounted in this
// container alone, in which no command runs yet, and it is removed before one does.
func (cs *containers) start(ctx context.Context, c *container, helper int, o ContainerOrder) error {
	if err := hostfile.MkdirAll(cs.folder, 0o700); err != nil {
		return err
	}
	door, err := hostfile.MkdirTemp(cs.folder, "door-")
	if err != nil {
		return err
	}
	defer func() { _ = hostfile.RemoveAll(door) }()
	program := filepath.Join(cs.folder, HelperName)
	if err := writeHelper(helper, program); err != nil {
		return err
	}
	shutFile, shutFolder := filepath.Join(cs.folder, "file"), filepath.Join(cs.folder, "folder")
	if err := errors.Join(hostfile.Write(shutFile, nil, 0), hostfile.MkdirAll(shutFolder, 0)); err != nil {
		return err
	}
	for i := range o.Binds {
		switch b := &o.Binds[i]; {
		case b.file:
			b.Source = shutFile
		case b.covered: // an engine's tmpfs can have a copy of what it covers
			b.Source = shutFolder
		}
	}
	o.Binds = append(o.Binds, Bind{Path: ownHelper, Source: program}, Bind{Path: ownDoor, Source: door})
	o.First = []string{ownHelper, spec.ContainerArg, ownDoor + "/s"}
	listener, err := listenIn(door)
	if err != nil {
		return os.NewSyscallError("listen", err)
	}
	defer unix.Close(listener)
	waiting, late := context.WithTimeoutCause(ctx, enginePatience, errors.New("its first process is not there after a minute"))
	defer late()
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { // ends with the engine
		ended <- cs.engine.Run(running, o)
		stop()
	}()
	if err = c.meet(waiting, listener, ended); err != nil {
		stop() // what the engine has started ends by itself: nobody is at the socket any more
		return fmt.Errorf("no container starts: %w", err)
	}
	return nil
}

// writeHelper copies the checked helper to path.
func writeHelper(helper int, path string) error {
	var st unix.Stat_t
	if err := unix.Fstat(helper, &st); err != nil {
		return os.NewSyscallError("fstat", err)
	}
	data := make([]byte, st.Size)
	if _, err := unix.Pread(helper, data, 0); err != nil {
		return os.NewSyscallError("read the helper", err)
	}
	return hostfile.Write(path, data, 0o755)
}

// listenIn makes a socket "s" in the folder, whose path may be longer than the address of a socket.
func listenIn(folder string) (int, error) {
	dir, err := hostfile.OpenFolder(folder)
	if err != nil {
		return -1, err
	}
	defer dir.Close()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	err = unix.Bind(fd, &unix.SockaddrUnix{Name: "/proc/self/fd/" + strconv.Itoa(int(dir.Fd())) + "/s"})
	if err == nil {
		err = unix.Listen(fd, 1)
	}
	if err != nil {
		unix.Close(fd)
	}
	return fd, err
}

// meet waits for the first process of the container, as long as the engine has not failed.
func (c *container) meet(ctx context.Context, listener int, ended <-chan error) error {
	for came := false; !came; {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}, 20)
		if came = n > 0; err != nil && err != unix.EINTR {
			return os.NewSyscallError("poll", err)
		}
		select {
		case err := <-ended:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		default:
		}
	}
	fd, _, err := unix.Accept4(listener, unix.SOCK_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("accept", err)
	}
	defer unix.Close(fd)
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return os.NewSyscallError("getsockopt SO_PEERCRED", err)
	}
	kind, body, err := control.Socket(fd).Receive()
	if err == nil && kind != control.FrameSession {
		err = unexpected(kind)
	}
	if err == nil {
		err = spec.Decode(body, &c.found)
	}
	if err != nil {
		return err
	}
	c.pid, c.group = int(peer.Pid), cgroup.InContainer(int(peer.Pid))
	if c.ref, err = unix.PidfdOpen(c.pid, 0); err != nil {
		return os.NewSyscallError("pidfd_open", err)
	}
	high, err := kernel.DupAbove(fd, kernel.LowestFD)
	c.sock = control.Socket(high)
	return err
}

// lives reports whether the container still runs.
func (c *container) lives() bool {
	fds := []unix.PollFd{{Fd: int32(c.sock), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return n == 0 && err == nil
}

// keeper starts a keeper in c, with files as its descriptors from 0 on.
func (c *container) keeper(files []int) (*keeperProcess, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("socketpair: %w", err)
	}
	defer unix.Close(pair[1])
	pid, pidfd, err := c.fork(slices.Insert(slices.Clone(files), spec.ControlFD, pair[1]))
	if err != nil {
		unix.Close(pair[0])
		return nil, err
	}
	return (&keeperProcess{pid: pid, ref: pidfd, sock: pair[0], contained: true}).register(), nil
}

func (c *container) fork(files []int) (pid, pidfd int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err = c.sock.SendFDs(control.FrameSpec, spec.Encode(spec.Container{Env: keeperEnv}), files...)
	kind, body, fds := control.Frame(0), []byte(nil), []int(nil)
	if err == nil {
		kind, body, fds, err = c.sock.ReceiveFDs()
	}
	switch {
	case err != nil:
		return 0, -1, errors.New("the container has ended: a limit of it was reached, or somebody stopped it")
	case kind == control.FrameFailed:
		return 0, -1, startFailure(body)
	case kind != control.FrameStarted || len(fds) != 1:
		closeAll(fds)
		return 0, -1, unexpected(kind)
	}
	info, err := kernel.ReadSmall("/proc/self/fdinfo/" + strconv.Itoa(fds[0]))
	if err == nil {
		pid, err = strconv.Atoi(kernel.StatusField(info, "Pid:"))
	}
	if err != nil || pid <= 0 {
		closeAll(fds)
		return 0, -1, fmt.Errorf("the container's processes have no numbers here: %w", errors.Join(err, unix.ESRCH))
	}
	return pid, fds[0], nil
}

// close ends all containers. It waits for their first processes, not for the engine.
func (cs *containers) close() {
	if cs == nil {
		return
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, c := range cs.all {
		_ = unix.Shutdown(int(c.sock), unix.SHUT_RDWR)
		if !hasEnded(c.ref, keeperPatience) {
			_ = unix.PidfdSendSignal(c.ref, unix.SIGKILL, nil, 0)
		}
		unix.Close(int(c.sock))
		unix.Close(c.ref)
	}
	cs.all = nil
}

// withImage replaces the variables that the image sets, but for those of a person or of the container.
func (c *container) withImage(env []string) []string {
	out := slices.Clone(env)
	for _, v := range c.found.Env {
		name, _, _ := strings.Cut(v, "=")
		if slices.Contains([]string{"HOME", "HOSTNAME", "PWD", "TERM", "container"}, name) {
			continue
		}
		out = slices.DeleteFunc(out, func(old string) bool { return strings.HasPrefix(old, name+"=") })
		out = append(out, v)
	}
	return out
}
