//go:build linux

package linuxsandbox

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
	"unsafe"

	"codeagent/linuxsandbox/broker"
	"codeagent/linuxsandbox/broker/judge"
	"codeagent/linuxsandbox/broker/sockets"
	"codeagent/linuxsandbox/cgroup"
	"codeagent/linuxsandbox/keeper"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/netns"
	"codeagent/linuxsandbox/plan"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"

	"golang.org/x/sys/unix"
)

// Backend confines commands with Landlock and seccomp, and gives each of them a keeper process. It
// is safe for concurrent use. Close it when the last command has ended.
type Backend struct {
	// helper waits for the sealed copy of the helper, which every keeper runs, and for the check of
	// its sum; without both there is nothing to start. The result is its descriptor.
	helper func() (int, error)
	// ahead waits for the first keeper of the session, which was started ahead; nil if none was, or
	// if somebody has taken it. probing guards it.
	ahead func() (firstKeeper, error)
	// openFiles is Options.OpenFiles.
	openFiles uint64
	// outside is what the session's network knows of the host.
	outside netns.Outside

	// probing guards known; once known is set, the fields after it do not change (session.go).
	probing  sync.Mutex
	known    bool
	probed   plan.Facts
	probeErr error
	// namespaces are the namespaces of the session; nil if none could be made.
	namespaces *netns.Namespaces
	// groups and brokers.Files are shared by a backend and those apart from it, but for the Files of drafts. apart:
	// another one closes groups; shares: another one closes Files.
	groups *cgroup.Groups
	// bound: commands without limits for a group of their own are in the session's.
	bound bool
	// outer, if set, makes mounts and namespaces in place of the keeper.
	outer Outer
	// containers, if set, are where keepers run.
	containers *containers
	// view is set while the session works on a draft.
	view *view
	// mounting makes view, once; nil: no view is needed.
	mounting func() error
	apart    bool
	shares   bool
	brokers  broker.Session
	globs    *plan.Globs
	// tried: a broker could do all its work in the session that this one is apart from.
	tried bool
	// plain, if set, is the reason why no namespaces are tried. Only tests set it.
	plain error

	mu sync.Mutex
	// running counts the commands that have not ended. mu guards it and all fields below.
	running int
	// holders counts the users of each placeholder by its path.
	holders map[string]*holder
	closed  bool
	// ending counts the keepers that have no process left and have not ended themselves; stuck are
	// those that cannot, until somebody was informed.
	ending sync.WaitGroup
	stuck  []kernel.Process
}

// globWait is the longest that a start waits for the search for a policy's globs.
const globWait = time.Second

// asRoot reports whether commands of this process run as uid 0.
func asRoot() bool { return os.Geteuid() == 0 }

type holder struct {
	placeholder
	users  int
	failed bool // a command that used it failed
	// moves is set for a granted path that commands make in the private folder, as this entry.
	moves string
}

var _ resolved.Backend = (*Backend)(nil)

// New begins to copy the helper into sealed memory and to check its sum, which takes some
// milliseconds; Ready waits for that. Without Options.Ahead it starts no process: the first
// Enforcement or Start finds out what this machine can enforce.
func New(o Options) (*Backend, error) {
	helper := sync.OnceValues(o.openHelper)
	b := &Backend{helper: helper, openFiles: o.OpenFiles, outside: netns.Outside{Lookup: o.Lookup, Proxy: o.Proxy}, groups: cgroup.New(cgroup.Kernel{}), globs: plan.NewGlobs(globWait), holders: map[string]*holder{}}
	b.brokers.Files = new(judge.Files)
	if b.bound = o.Bound; o.Bound {
		b.groups.Scope = func() (int, func(), error) { return startScope(scopePath, managers()) }
		go b.groups.Open() // nothing waits for it
	}
	go helper() // ends by itself; at exit the kernel closes what nobody closed
	if !o.Ahead {
		return b, nil
	}
	ahead := sync.OnceValues(func() (firstKeeper, error) { return b.openSession(false) }) // before anything is known of the command
	b.ahead = ahead
	go ahead() // ends by itself, and its keeper with codeagent
	return b, nil
}

// Apart returns a backend with the helper of b and a session of its own, for a program that must not
// meet the commands of b, nor they it: where namespaces work it has its own network. Its first keeper is
// started at once, as with Options.Ahead. Close it before b.
//
// Threat: the commands of a session share a loopback, so that one finds the server that another one
// started. A program without a network would reach what they serve, and they what it serves.
func (b *Backend) Apart() (*Backend, error) { return b.beside(b.brokers.Files) } // both may change the workspace

// OnDrafts is Apart for commands on drafts: nothing is remembered in common of what commands changed.
//
// Threat: a command on a draft makes a repository, which is in no folder. What the person has at that path later must
// not count as made by the session.
func (b *Backend) OnDrafts() (*Backend, error) { return b.beside(new(judge.Files)) }

func (b *Backend) beside(files *judge.Files) (*Backend, error) {
	if err := b.Mounted(); err != nil {
		return nil, err
	}
	out := &Backend{
		helper: sync.OnceValues(func() (int, error) {
			fd, err := b.helper()
			if err == nil {
				fd, err = kernel.DupAbove(fd, kernel.LowestFD)
			}
			return fd, err
		}),
		openFiles: b.openFiles, outside: netns.Outside{Lookup: b.outside.Lookup, Proxy: b.outside.Proxy}, groups: b.groups, bound: b.bound, globs: plan.NewGlobs(globWait), outer: b.outer, containers: b.containers.apart(), view: b.view, apart: true, shares: files == b.brokers.Files,
		holders: map[string]*holder{},
	}
	out.brokers.Files = files
	b.probing.Lock()
	defer b.probing.Unlock()
	out.tried = b.known && b.probeErr == nil && b.probed.Broker && b.probed.Sockets == sockets.TakesCopies
	if out.plain = b.plain; b.containers != nil {
		return out, nil
	}
	if b.outer != nil || b.known && b.namespaces == nil { // there is nothing to have apart
		out.known, out.probed, out.probeErr = b.known, b.probed, b.probeErr
		out.serveBeside()
	} else {
		ahead := sync.OnceValues(func() (firstKeeper, error) { return out.openSession(false) })
		out.ahead = ahead
		go ahead() // ends by itself, and its keeper with codeagent
	}
	return out, nil
}

// Ready waits until the helper is copied and its sum is checked. The error says what to do when
// the helper is missing or does not belong to this codeagent; then every Start fails with it.
func (b *Backend) Ready() error {
	_, err := b.helper()
	return err
}

// Name is "linux", or the name of the Outer or the Engine.
func (b *Backend) Name() string {
	switch {
	case b.outer != nil:
		return b.outer.Name()
	case b.containers != nil:
		return b.containers.engine.Name()
	}
	return "linux"
}

// HasDrafts makes it an exec.Drafter.
func (*Backend) HasDrafts() {}

// Close releases the descriptors and waits for the keepers of commands that have ended. Commands
// that still run keep running. The error is a *sandbox.LeftError if a keeper cannot be killed.
func (b *Backend) Close() error {
	_ = b.Mounted()
	b.probing.Lock()
	if !b.known {
		b.known, b.probeErr = true, startError("probe", errors.New("the backend is closed"))
	}
	if b.ahead != nil {
		if o, err := b.takeOpening(); err == nil {
			o.end()
		}
	}
	b.probing.Unlock()
	b.mu.Lock()
	was := b.closed
	b.closed = true
	b.mu.Unlock()
	if was {
		return nil
	}
	b.view.close(b)
	b.namespaces.Close()
	b.brokers.Net.Close()
	b.brokers.Close()
	if !b.shares {
		b.brokers.Files.Close()
	}
	b.globs.Close()
	if helper, err := b.helper(); err == nil {
		unix.Close(helper)
	}
	b.ending.Wait()
	b.containers.close()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running == 0 && !b.apart { // otherwise they would lose their limits
		b.groups.Close()
	}
	return b.takeStuck()
}

// Enforcement reports the layers and weaknesses for p. If no command has run yet, the first call
// runs the helper once, up to its self-test, so each reported layer was tried. An error is a
// *sandbox.StartError.
func (b *Backend) Enforcement(p resolved.Policy) (sandbox.Enforcement, error) {
	f, err := b.factsFor(p)
	if err != nil {
		return sandbox.Enforcement{}, err
	}
	ready, err := plan.New(p, f)
	if err != nil {
		return sandbox.Enforcement{}, startError("policy", err)
	}
	return sandbox.Enforcement{
		Backend: b.Name(), LandlockABI: f.LandlockABI, Layers: ready.Layers, Weaknesses: ready.Weaknesses, Observes: f.Broker,
	}, nil
}

// factsFor returns the facts of probe, which limits of p control groups enforce, and which files
// match its globs. Trying control groups moves codeagent into a group of its own; it is done only
// if p has limits for them.
func (b *Backend) factsFor(p resolved.Policy) (plan.Facts, error) {
	f, err := b.probe(&p)
	if err == nil {
		f = b.withPolicy(f, p)
	}
	return f, err
}

func (b *Backend) withPolicy(f plan.Facts, p resolved.Policy) plan.Facts {
	switch {
	case !cgroup.Wanted(p.Limits):
		if b.bound {
			f.Groups = b.groups.Known()
		}
	case b.containers != nil:
		f.Groups = cgroup.Facts{Tried: true, Why: "a container has one, for all commands together"}
	default:
		f.Groups = b.groups.Open()
	}
	if f.Namespaces {
		f.Globs = b.globs.Find(p.DenyGlobs, plan.Searched(p))
	}
	return f
}

// MadeGit lists the git directories that commands of this backend and of those apart from it created.
// Commands may write to them, including hooks and configuration.
func (b *Backend) MadeGit() []string { return b.brokers.MadeGit() }

// Share makes known to other sessions, by locks on the file at path, what commands of b may write. Without it
// there must be no other session. Call it before the first Start.
func (b *Backend) Share(path string) error { return b.brokers.Share(path) }

// Still is part of sandbox.Stiller. It holds for the backends apart from b too.
func (b *Backend) Still(do func()) { b.brokers.Still(do) }

// Survey reports whether this kernel has the layers without which no command runs. It only asks the
// kernel, for machines on which a keeper cannot start and so cannot prove anything.
func Survey() []sandbox.Layer {
	landlock := sandbox.Layer{Name: "landlock", State: sandbox.LayerActive}
	switch abi := keeper.LandlockABI(); {
	case abi <= 0:
		landlock.State, landlock.Reason = sandbox.LayerAbsent, "the kernel has none, it was not switched on (lsm=landlock), or a container refuses its calls"
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
	if errno == unix.EINVAL && action == unix.SECCOMP_RET_ERRNO { // gVisor, and Linux before 4.14, do not know the question
		return sandbox.Layer{Name: layer, State: sandbox.LayerActive, Reason: "the kernel does not say what its filters can do; not tried"}
	}
	return sandbox.Layer{Name: layer, State: sandbox.LayerAbsent, Reason: "seccomp(2): " + errno.Error()}
}
