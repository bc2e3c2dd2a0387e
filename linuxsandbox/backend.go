//go:build linux

package linuxsandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"codeagent/linuxsandbox/broker"
	"codeagent/linuxsandbox/keeper"
	"codeagent/linuxsandbox/netns"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// Backend confines commands with Landlock and seccomp, and gives each of them a keeper process. It
// is safe for concurrent use. Close it when the last command has ended.
type Backend struct {
	// helper is the sealed copy of the helper, which every keeper runs. Its state is that of the
	// original file.
	helper image
	// exe is the file of the running program.
	exe image
	// outside is what the session's network knows of the host.
	outside netns.Outside

	// probe sets the following fields once.
	probeOnce sync.Once
	probed    facts
	probeErr  error
	// namespaces are the namespaces of the session; nil if none could be made.
	namespaces *netns.Namespaces
	groups     groups
	brokers    broker.Session
	globs      globIndex
	// plain, if set, is the reason why no namespaces are tried. Only tests set it.
	plain error

	mu sync.Mutex
	// running counts the commands that have not ended. mu guards it and all fields below.
	running int
	guards  map[string]*guard
	// holders counts the users of each placeholder by its path.
	holders map[string]*holder
	closed  bool
}

// asRoot reports whether commands of this process run as uid 0.
func asRoot() bool { return os.Geteuid() == 0 }

type holder struct {
	placeholder
	users  int
	failed bool // a command that used it failed
}

var _ sandbox.Backend = (*Backend)(nil)

// New opens the helper and copies it into sealed memory, which takes about a millisecond. It starts
// no process: the first Enforcement or Start finds out what this machine can enforce. The error
// says what to do when the helper is missing or does not belong to this codeagent.
func New(o Options) (*Backend, error) {
	helper, err := openHelper(o)
	if err != nil {
		return nil, fmt.Errorf("sandbox helper: %w", err)
	}
	exe, err := openExecutable()
	if err != nil {
		unix.Close(helper.fd)
		return nil, fmt.Errorf("sandbox helper: %w", err)
	}
	return &Backend{helper: helper, exe: exe, outside: netns.Outside{Lookup: o.Lookup}, guards: map[string]*guard{}, holders: map[string]*holder{}}, nil
}

// Name is "linux".
func (*Backend) Name() string { return "linux" }

// Close releases the descriptors. Commands that still run keep running.
func (b *Backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	b.closed = true
	for _, g := range b.guards {
		g.close()
	}
	b.probeOnce.Do(func() { b.probeErr = startError("probe", errors.New("the backend is closed")) })
	b.namespaces.Close()
	b.brokers.Net.Close()
	if b.running == 0 { // otherwise they would lose their limits
		b.groups.close()
	}
	b.brokers.Close()
	b.globs.close()
	return errors.Join(unix.Close(b.helper.fd), unix.Close(b.exe.fd))
}

// Enforcement reports the layers and weaknesses for p. The first call of a session runs the helper
// once, up to its self-test, so each reported layer was tried. An error is a *sandbox.StartError.
func (b *Backend) Enforcement(p sandbox.Policy) (sandbox.Enforcement, error) {
	f, err := b.factsFor(p)
	if err != nil {
		return sandbox.Enforcement{}, err
	}
	ready, err := prepare(p, f)
	if err != nil {
		return sandbox.Enforcement{}, startError("policy", err)
	}
	return sandbox.Enforcement{
		Backend: b.Name(), LandlockABI: f.LandlockABI, Layers: ready.layers, Weaknesses: ready.weaknesses, Observes: f.Broker,
	}, nil
}

// factsFor returns the facts of probe, which limits of p control groups enforce, and which files
// match its globs. Trying control groups moves codeagent into a group of its own; it is done only
// if p has limits for them.
func (b *Backend) factsFor(p sandbox.Policy) (facts, error) {
	f, err := b.probe()
	if err == nil && wantsGroup(p.Limits) {
		f.Groups = b.groups.open()
	}
	if err == nil && f.Namespaces {
		f.Globs = b.globs.find(p)
	}
	return f, err
}

// probe confines a keeper under a trivial policy, once a session. It tries with namespaces first,
// then without.
func (b *Backend) probe() (facts, error) {
	b.probeOnce.Do(func() {
		why := b.tryNamespaces()
		if why == nil {
			return
		}
		b.probed, b.probeErr = b.tryKeeper(nil)
		b.probed.NamespacesWhy = why.Error()
	})
	return b.probed, b.probeErr
}

// tryNamespaces returns why keepers get no namespaces here; nil if they do.
func (b *Backend) tryNamespaces() error {
	if b.plain != nil {
		return b.plain
	}
	conf, _ := os.ReadFile("/etc/resolv.conf") // without it, resolver libraries use their defaults
	hosts, _ := os.ReadFile("/etc/hosts")
	n, err := netns.Make(netns.Helper{FD: b.helper.fd, Name: HelperName, Env: keeperEnv}, asRoot(), string(conf))
	if err != nil {
		return err
	}
	b.namespaces = n
	f, err := b.tryKeeper(&spec.Mounts{Memory: true, Devices: true, Terminals: true})
	if noPIDs := err; noPIDs != nil {
		// In a container that covers parts of /proc, the kernel refuses to mount another /proc.
		f, err = b.tryKeeper(&spec.Mounts{HostProc: true, Memory: true, Devices: true, Terminals: true})
		f.NoPIDs = "a helper in one could not start: " + innerError(noPIDs)
	}
	if err != nil {
		b.namespaces = nil
		n.Close()
		return err
	}
	b.outside.Hosts = string(hosts)
	b.brokers.Net = n.Serve(b.outside)
	b.probed = f
	b.probed.Namespaces, b.probed.HostNet = true, n.HostNet
	return nil
}

// innerError is the cause inside a start error, without the stage and exit code.
func innerError(err error) string {
	if refused := (*sandbox.StartError)(nil); errors.As(err, &refused) {
		return refused.Err.Error()
	}
	return err.Error()
}

// tryKeeper starts a keeper and takes it through its self-test.
func (b *Backend) tryKeeper(mounts *spec.Mounts) (facts, error) {
	order := spec.Spec{Rules: []spec.Rule{{Path: "/", Access: spec.AccessRead}}, Mounts: mounts, Probe: true, Ask: true, PathSockets: true}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return facts{}, startError("probe", err)
	}
	defer null.Close()
	if mounts != nil {
		order.Network, order.HostNet = true, b.namespaces.HostNet
	}
	k, err := b.startKeeper([3]*os.File{null, null, null}, false, nil, b.joinedBy(&order))
	if err != nil {
		return facts{}, startError("helper", err)
	}
	f := facts{}
	if err = k.sendSpec(context.Background(), order); err == nil {
		var listener int
		f.Facts, listener, err = k.confined(context.Background())
		f.tryBroker(listener, k.pid)
	}
	k.close()
	k.reap()
	return f, err
}

// MadeGit lists the git directories that commands of this session created. Commands may write to
// them, including hooks and configuration.
func (b *Backend) MadeGit() []string { return b.brokers.MadeGit() }

// tryBroker closes the listener of the probe and tests whether a broker could work.
func (f *facts) tryBroker(listener, keeper int) {
	if listener < 0 {
		return
	}
	unix.Close(listener)
	taking, noSockets, err := broker.Probe(keeper, f.Thread)
	if err != nil {
		f.Broker, f.NoBroker = false, "codeagent may not look at what it confines: "+err.Error()
		return
	}
	if f.Sockets = taking; noSockets != nil {
		f.NoSockets = noSockets.Error()
	}
}

// Survey reports whether this kernel has the layers without which no command runs. It only asks the
// kernel, for machines on which a keeper cannot start and so cannot prove anything.
func Survey() []sandbox.Layer {
	landlock := sandbox.Layer{Name: "landlock", State: sandbox.LayerActive}
	switch abi := keeper.LandlockABI(); {
	case abi <= 0:
		landlock.State, landlock.Reason = sandbox.LayerAbsent, "the kernel has none, it was not switched on (lsm=landlock), or a container refuses its calls"
	case abi < spec.MinLandlockABI:
		landlock.State, landlock.Reason = sandbox.LayerAbsent, fmt.Sprintf("ABI %d, and codeagent needs %d (Linux 6.2)", abi, spec.MinLandlockABI)
	default:
		landlock.Reason = fmt.Sprintf("ABI %d; not tried", abi)
	}
	return []sandbox.Layer{landlock, knows("seccomp", unix.SECCOMP_RET_ERRNO), knows("notify", unix.SECCOMP_RET_USER_NOTIF)}
}

// knows asks the kernel whether seccomp filters can use action. A filter around codeagent can
// refuse the question.
func knows(layer string, action uint32) sandbox.Layer {
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	if errno == 0 {
		return sandbox.Layer{Name: layer, State: sandbox.LayerActive, Reason: "the kernel has it; not tried"}
	}
	return sandbox.Layer{Name: layer, State: sandbox.LayerAbsent, Reason: "seccomp(2): " + errno.Error()}
}
