//go:build linux

package linuxsandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"

	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/netns"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// The broker answers the calls that the filter asks about, one command each:
//
//	command: chmod("a") ─▶ kernel: notification ─▶ broker thread
//	   what the call names is opened by the broker itself (resolve.go)
//	   what was opened is put to the policy                (judge)
//	   the broker does the call on what it opened, or it is refused
//	command: chmod returns ◀─ the broker's answer
//
// What the broker alone confines never proceeds in the command: another of its
// threads could change the path between the look at it and the kernel's own reading
// of it. A call proceeds only where a rule of the kernel holds it whatever it names
// (proceed.go). What the broker cannot look at it refuses.
//
// The thread that does all this has the capabilities of the command, which
// means none, or root's three for files. Its user and groups are codeagent's,
// and so are the command's: no_new_privs is set and no capability to change
// them is left.

// broker serves one command. run ends when stop is called or, from Linux 6.11,
// when no process of the command is left.
type broker struct {
	brokerOptions
	wake  int        // an eventfd: end
	ready chan error // whether the thread has the rights of the command
	given chan int   // the listener, or closed when there is none
	done  chan struct{}
	posts *posts
	// The rest is the broker thread's own until done is closed.
	listener int
	log      denialLog
	dropped  uint64 // capabilities that codeagent has and the command has not
	view     *view  // nil until the first call is asked about
	waiting  waitingCalls
	masks    masks
	fresh    freshFile
	// terminals are the command's own outside of a /dev/pts of its own.
	terminals []madeTerminal
	socketWork
	// held are the calls that wait for a person.
	held    *holding
	keeping keeping
}

// brokerOptions say what a broker goes by.
type brokerOptions struct {
	policy sandbox.Policy
	keep   uint64 // capabilities of the command
	// mounts are what the command sees otherwise than the host, nil: nothing.
	mounts *mountPlan
	// protection is what of the policy the broker holds, rules what the kernel does.
	protection protection
	rules      kernelRules
	evidence   evidenceOptions
	// session is what the brokers of all commands know together.
	session *brokerSession
	// inet: the filter lets the command have sockets of a network, which must not
	// be the one whose cookie is hostNet.
	inet    bool
	hostNet uint64
	// takes is how the broker gets at the command's sockets.
	takes socketTaking
	// holder answers for refused calls while they wait, for as long as life does;
	// nil: they fail at once.
	holder sandbox.Holder
	life   context.Context
	// undo is told before what stands in a write root changes; nil: nobody is.
	undo sandbox.ChangeObserver
	// terminal is the far end of the one that codeagent made for the command, nil: none.
	terminal *os.File
	// ownSession: no terminal of the user can be the controlling one.
	ownSession bool
}

// brokerSession is what the brokers of one Backend share.
type brokerSession struct {
	// mu makes a look at the file system and the change that follows one step,
	// seen from every command: none can move what another one is judged by.
	mu      sync.Mutex
	sockets socketRecords
	// net is the session's own network, nil where it has none.
	net *netns.Network
	// own are the git directories that the session's commands made; guarded by mu.
	own ownGit
}

// newBroker starts the broker's thread, so that it is there when the keeper is
// confined: the two get ready at the same time.
func newBroker(o brokerOptions) (*broker, error) {
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	left, err := newPosts()
	if err != nil {
		unix.Close(wake)
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	held, err := newHolding(o.life, o.holder)
	if err != nil {
		left.close()
		unix.Close(wake)
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	o.policy = withOwnFolders(o.policy, o.mounts)
	b := &broker{held: held, posts: left, brokerOptions: o, wake: wake, ready: make(chan error, 1), given: make(chan int, 1), done: make(chan struct{}), socketWork: newSocketWork(o.session.net), keeping: keeping{observer: o.undo}}
	b.openGrants()
	b.addTerminal(o.terminal)
	go b.run()
	return b, nil
}

// serve hands the listener over, once. The broker owns it from then on.
func (b *broker) serve(listener int) error {
	if err := <-b.ready; err != nil {
		unix.Close(listener)
		return err
	}
	b.given <- listener
	return nil
}

// stop ends the broker and waits for it. Calls that are still asked about fail
// with ENOSYS. It must be called once.
func (b *broker) stop() {
	if b == nil {
		return
	}
	close(b.given)
	b.end()
	<-b.done
	b.client.Leave()
	unix.Close(b.wake)
}

// end wakes all that works for the command.
func (b *broker) end() { _, _ = unix.Write(b.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0}) }

func (b *broker) run() {
	defer close(b.done)
	defer b.held.close()
	defer b.posts.close()
	defer b.dropTerminals(func(madeTerminal) bool { return true })
	b.dropped = kernel.HeldCaps() &^ b.keep
	err := becomeCommand(b.keep)
	b.ready <- err
	if err != nil {
		return
	}
	var given bool
	if b.listener, given = <-b.given; !given {
		return
	}
	defer unix.Close(b.listener)
	defer func() { b.view.close() }()
	defer b.endSockets()
	defer b.waiting.close()
	defer b.fresh.drop()
	wakeTogether(b.listener)
	fds := []unix.PollFd{{Fd: int32(b.listener), Events: unix.POLLIN}, {Fd: int32(b.wake), Events: unix.POLLIN}, {Fd: int32(b.held.wake), Events: unix.POLLIN},
		{Fd: int32(b.posts.wake), Events: unix.POLLIN}}
	var n notification
	for {
		_, err := unix.Poll(fds, b.patience())
		if err != nil && err != unix.EINTR || err == nil && fds[1].Revents != 0 {
			return
		}
		b.tryWaiting(false)
		b.tendHeld(err == nil && fds[2].Revents != 0)
		if err == nil && fds[3].Revents != 0 {
			b.posts.do()
		}
		switch {
		case err != nil:
		case fds[0].Revents&unix.POLLIN != 0:
			if n.receive(b.listener) == nil {
				// The error is that the caller was killed meanwhile.
				_ = n.answer(b.listener, b.reply(&n))
			}
		case fds[0].Revents != 0:
			return
		}
	}
}

// becomeCommand gives the calling thread, which ends with its goroutine, the
// rights of the command.
func becomeCommand(keep uint64) error {
	runtime.LockOSThread()
	return kernel.KeepCaps(keep)
}

// tryBroker closes the probe's listener and tries whether a broker could work:
// some kernels let nobody look at another process.
func (f *facts) tryBroker(listener, keeper int) {
	if listener < 0 {
		return
	}
	unix.Close(listener)
	tid, err := threadOf(keeper, f.Thread)
	if err == nil {
		err = canBroker(tid)
	}
	if err == nil && !sameUser() {
		err = errors.New("codeagent runs with another user's rights")
	}
	if err != nil {
		f.Broker, f.NoBroker = false, "codeagent may not look at what it confines: "+err.Error()
		return
	}
	if f.Sockets, err = howToTake(tid); err != nil {
		f.NoSockets = err.Error()
	}
}

// canBroker tries what a broker needs of a thread that is confined.
func canBroker(tid int) error {
	done := make(chan error)
	go func() {
		err := becomeCommand(0)
		if err == nil {
			// Nothing is mapped at the start of memory: EFAULT is a yes.
			if _, err = readMemory(tid, 8, 1); err == unix.EFAULT {
				err = nil
			}
		}
		for _, link := range []string{"cwd", "root"} {
			var fd int
			if err != nil {
				break
			}
			if fd, err = openProc(tid, link, 0); err == nil {
				unix.Close(fd)
			}
		}
		done <- err
	}()
	return <-done
}

// threadOf is the thread of a process that is called inside in its PID namespace.
func threadOf(process, inside int) (int, error) {
	dir := procDir + "/" + strconv.Itoa(process) + "/task"
	threads, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	for _, entry := range threads {
		tid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if _, thread := insideNumbers(tid); thread == inside {
			return tid, nil
		}
	}
	return 0, fmt.Errorf("no thread of %d is called %d inside", process, inside)
}

// open returns a reference to what the caller means by m.
func (b *broker) open(n *notification, m name) (int, error) {
	if err := b.look(n); err != nil {
		return -1, err
	}
	return b.view.open(int(n.tid), m)
}

// look opens what the command sees, once.
func (b *broker) look(n *notification) error {
	if b.view != nil {
		return nil
	}
	v, err := lookAt(b.mounts, int(n.tid))
	if err != nil {
		return err
	}
	if !n.valid(b.listener) {
		v.close() // it may be what a later owner of the number sees
		return unix.ESRCH
	}
	b.view = v
	return nil
}

// tellHidden writes down that a call failed because the host's file is not in the
// command's sight. It would be refused as well.
func (b *broker) tellHidden(n *notification, call string, kind sandbox.DenialKind, m name, err error) {
	if err != unix.ENOENT || b.view == nil {
		return
	}
	path := b.view.hidden(int(n.tid), m)
	if path != "" && !b.policy.JudgeWrite(path).Allowed {
		b.record(n, sandbox.Denial{Kind: kind, Operation: call, Target: path, Errno: "ENOENT"})
	}
}

// handle answers one call.
func (b *broker) handle(n *notification) reply {
	if c := metadataCallOf(n.nr); c != nil {
		return b.metadata(n, c)
	}
	if c := fileCallOf(n.nr); c != nil {
		return b.file(n, c)
	}
	if c := toldCallOf(n.nr); c != nil {
		return b.tell(n, c)
	}
	if c := processCallOf(n.nr); c != nil {
		return b.process(n, c)
	}
	switch n.nr {
	case unix.SYS_UMASK:
		return b.umask(n)
	case unix.SYS_EXIT_GROUP:
		return b.exit(n)
	case unix.SYS_CONNECT, unix.SYS_BIND:
		return b.socketCall(n)
	case unix.SYS_GETSOCKNAME, unix.SYS_GETPEERNAME:
		return b.socketName(n)
	case unix.SYS_SOCKET:
		return b.noSocket(n)
	case unix.SYS_SENDTO, unix.SYS_SENDMSG, unix.SYS_SENDMMSG:
		return b.sendCall(n)
	case unix.SYS_IOCTL:
		return b.resize(n)
	case unix.SYS_FLOCK:
		return b.lock(n)
	}
	return failed(unix.ENOSYS)
}

// errnoOf is what a call that failed with err answers.
func errnoOf(err error) unix.Errno {
	if err == nil {
		return 0
	}
	if errno, ok := err.(unix.Errno); ok {
		return errno
	}
	return unix.EPERM
}

// sameUser reports whether a command's user is always codeagent's.
func sameUser() bool { return os.Getuid() == os.Geteuid() && os.Getgid() == os.Getegid() }
