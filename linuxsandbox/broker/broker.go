//go:build linux

// Package broker answers the system calls that the filter asks about, with one thread for
// each command. It opens the file that a call names, judges it by the policy, and changes
// files and connects sockets for the command, with the rights of the command; it mounts
// nothing and starts no process. Start with handlers.handle, the switch over the handlers.
//
//	command: chmod("a") ─▶ kernel: notification ─▶ broker thread
//	   pathwalk opens the file that the call names
//	   the judge decides whether the policy allows a change of the open file
//	   a handler makes the call on the open file, or denies it
//	command: chmod returns ◀─ the broker's answer
//
// Threat: another thread of the command changes memory, names or descriptors after the
// broker has examined a call and before the kernel reads its arguments again. So a call
// that only the broker confines never proceeds in the command. A call proceeds only if a
// kernel rule confines it whatever it names (notify/proceed.go). The broker denies a call
// that it cannot examine.
//
// The broker's thread has the capabilities of the command: none, or root's three for files.
// It runs as codeagent's user and groups, like the command: no_new_privs is set, and no
// capability to change them is left.
package broker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"codeagent/internal/git"
	"codeagent/linuxsandbox/broker/evidence"
	"codeagent/linuxsandbox/broker/judge"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/broker/processes"
	"codeagent/linuxsandbox/broker/sockets"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/netns"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"
	"codeagent/sandbox/protect"
	"codeagent/sandbox/resolved"

	"golang.org/x/sys/unix"
)

// Broker serves one command. run ends when Stop is called or, since Linux 6.11, when no
// process of the command is left.
type Broker struct {
	wake     int        // an eventfd, written by end
	ready    chan error // nil once the thread has the rights of the command
	given    chan int   // the listener; closed without one if the command never started
	done     chan struct{}
	posts    *posts
	handlers handlers

	// rules are the kernel rules that hold for this command.
	rules    notify.Rules
	session  *Session
	keeper   int // its PID
	walk     pathwalk.Walker
	log      *evidence.Log
	judge    *judge.Judge
	rights   rights
	held     *holding
	observer observer
	waiting  waitingCalls
	fresh    freshFile
	links    gitlinks
	tracked  trackedFiles
}

// Options are the inputs of New.
type Options struct {
	Policy resolved.Policy
	// Protection is the part of the policy that the broker enforces. Order is what the
	// keeper enforces.
	Protection judge.Protection
	Order      *spec.Spec
	Command    sandbox.Command
	// Keeper is the PID of the keeper, the parent of the command's first process.
	Keeper int
	// Session is shared by the brokers of all commands.
	Session *Session
	// Taking is how the broker copies the command's sockets.
	Taking sockets.Access
	// Holder answers for denied calls while they wait, until Life is done. nil: denied calls
	// fail at once.
	Holder sandbox.Holder
	Life   context.Context
}

// Session is what the brokers of one Backend share. Its Files must be set.
type Session struct {
	*judge.Files
	sockets sockets.Records
	// Net is the session's shared network, nil for none.
	Net *netns.Network
}

// Close forgets the sockets of the session's commands.
func (s *Session) Close() { s.sockets.Close() }

// New starts the broker's thread while the keeper is still being confined, so that both are
// ready at the same time.
func New(o Options) (*Broker, error) {
	if err := o.Session.Enter(o.Protection.Shared()); err != nil {
		return nil, err
	}
	b, err := assemble(o)
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	go b.run()
	return b, nil
}

// assemble makes a broker whose thread does not run.
func assemble(o Options) (*Broker, error) {
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	left, err := newPosts()
	if err != nil {
		unix.Close(wake)
		return nil, err
	}
	held := newHolding(o.Life, o.Holder, o.Command.Learn, left)
	held.enter = o.Session.Enter
	b := &Broker{
		wake: wake, ready: make(chan error, 1), given: make(chan int, 1), done: make(chan struct{}), posts: left,
		rules: notify.RulesOf(o.Order), session: o.Session, keeper: o.Keeper, held: held,
	}
	mounts := o.Order.Mounts
	b.walk.Mounts = mountsOf(mounts)
	b.log = evidence.New(o.Command.Evidence, o.Order.Reads, o.Keeper, &b.walk)
	reach := o.Protection.Reach(o.Order)
	if o.Command.Terminal {
		reach = append(reach, kernel.PathOf(int(o.Command.Stdin.Fd())))
	}
	b.judge, held.law = judge.New(judge.Options{
		Policy: withOwnFolders(o.Policy, mounts), Protection: o.Protection, Reach: reach, Files: o.Session.Files, Walk: &b.walk,
		Sees: b.log.Sees, Versions: o.Command.Versions, Seal: seal,
	})
	still := o.Session.Lock()
	b.links = gitlinks{judge: b.judge, log: b.log, still: still}
	b.tracked = trackedFiles{judge: b.judge, log: b.log, walk: &b.walk, still: still}
	b.rights = rights{keep: o.Order.KeptCaps(), mounted: mounts != nil, log: b.log}
	held.log, held.handle = b.log, b.handleAll
	b.observer = observer{to: o.Command.Observer, changed: o.Command.Changed, draft: o.Command.Draft, judge: b.judge, walk: &b.walk, still: still}
	b.handlers = b.handlersFor(o)
	return b, nil
}

// mountsOf returns the part of a mount plan that path walks need.
func mountsOf(plan *spec.Mounts) *pathwalk.Mounts {
	if plan == nil {
		return nil
	}
	return &pathwalk.Mounts{Private: plan.Private, Temp: plan.Temp, Own: plan.OwnFolders(), Shown: slices.Concat(plan.Writable, plan.Readable, plan.Named)}
}

// withOwnFolders adds the folders that the command has for itself to its write roots.
func withOwnFolders(p resolved.Policy, plan *spec.Mounts) resolved.Policy {
	if plan == nil {
		return p
	}
	return p.Plus(plan.OwnFolders(), nil)
}

// Serve hands the listener over, once. The broker then owns it.
func (b *Broker) Serve(listener int) error {
	if err := <-b.ready; err != nil {
		unix.Close(listener)
		return err
	}
	b.given <- listener
	return nil
}

// Stop ends the broker and waits for its thread. Calls that still wait fail with ENOSYS. It
// must be called once.
func (b *Broker) Stop() {
	if b == nil {
		return
	}
	close(b.given)
	b.end()
	<-b.done
	b.handlers.sockets.Leave()
	unix.Close(b.wake)
}

// end wakes everything that works for the command, to end it.
func (b *Broker) end() { _, _ = unix.Write(b.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0}) }

// Refused returns the denials so far.
func (b *Broker) Refused() []sandbox.Denial {
	if b == nil {
		return nil
	}
	return b.log.Refused()
}

// Trace returns what the broker saw. It waits for the broker's end.
func (b *Broker) Trace() sandbox.Trace {
	if b == nil {
		return sandbox.Trace{Evidence: sandbox.EvidenceNothing}
	}
	<-b.done
	return b.log.Trace(b.handlers.sockets.Blind())
}

// Allows reports whether the policy, without what was revoked, opens path for what is at the moment at from,
// and that is no repository: nobody knows what version control would run there. It waits for the broker's end.
func (b *Broker) Allows(path, from string) bool {
	<-b.done
	has := func(name string) bool { return judge.Exists(from + "/" + name) }
	return !b.judge.Shut(sandbox.KindWrite, path) && !protect.IsRepository(filepath.Base(path)) && !git.Marked(has)
}

func (b *Broker) run() {
	defer close(b.done)
	defer b.held.law.Close()
	defer b.held.close()
	defer b.posts.close()
	defer b.held.cancel() // no answer is applied any more
	defer b.handlers.terms.Close()
	b.rights.dropped = kernel.HeldCaps() &^ b.rights.keep
	err := sockets.BecomeCommand(b.rights.keep)
	b.ready <- err
	if err != nil {
		return
	}
	listener, given := <-b.given
	if !given {
		return
	}
	defer unix.Close(listener)
	defer b.walk.Close()
	defer b.handlers.sockets.Stop()
	defer b.waiting.close()
	defer b.fresh.drop()
	defer b.links.settle(true)
	defer b.tracked.settle(true)
	notify.WakeTogether(listener)
	b.answerCalls(listener)
}

// answerCalls answers the calls that arrive at the listener, until the broker is stopped or
// the listener is hung up.
func (b *Broker) answerCalls(listener int) {
	fds := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}, {Fd: int32(b.wake), Events: unix.POLLIN}, {Fd: int32(b.posts.wake), Events: unix.POLLIN}}
	var n notify.Notification
	for {
		_, err := unix.Poll(fds, b.patience())
		if err != nil && err != unix.EINTR || err == nil && fds[1].Revents != 0 {
			return
		}
		b.waiting.tryWaiting(false)
		b.links.settle(false)
		b.tracked.settle(false)
		if err == nil && fds[2].Revents != 0 {
			b.posts.do()
		}
		b.held.lookAtCallers()
		switch {
		case err != nil:
		case fds[0].Revents&unix.POLLIN != 0:
			if n.Receive(listener) == nil {
				a := b.handleAll(&n)
				b.held.forget()
				// An error here means that the caller was killed meanwhile.
				_ = n.Answer(a)
			}
		case fds[0].Revents != 0:
			return
		}
	}
}

// patience is how long the broker may wait for the next call, in milliseconds. -1 means no
// limit.
func (b *Broker) patience() int {
	switch {
	case len(b.links.pending)+len(b.tracked.pending) > 0:
		return linkMillis
	case len(b.waiting.list) > 0:
		return tryMillis
	case len(b.held.questions) > 0:
		return heldMillis
	}
	return -1
}

// handleAll handles a call again until nothing has to be looked through, asked, reported or
// learned first.
func (b *Broker) handleAll(n *notify.Notification) notify.Reply {
	defer b.judge.ForgetLooks()
	a := b.handlers.handle(n)
	for rounds := 0; a.Again; a = b.handlers.handle(n) {
		// learning.asked bounds the rounds of Command.Learn.
		b.judge.MakeLooks()
		if asked, reported := b.judge.AskHistory(), b.observer.report(); asked || reported {
			rounds++
		}
		if rounds > MaxKeeps {
			return notify.Failed(unix.EAGAIN)
		}
	}
	return a
}

// Probe tests whether a broker could serve the command with this keeper and first thread:
// some kernels forbid any look at another process. taking is how the broker would copy its
// sockets, noSockets the reason why it cannot.
func Probe(keeper, thread int) (taking sockets.Access, noSockets, err error) {
	tid, err := threadOf(keeper, thread)
	if err != nil {
		return taking, nil, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err = sockets.BecomeCommand(0); err == nil {
			err = canBroker(tid)
		}
		if err == nil {
			taking, noSockets = sockets.HowToTake(tid, spec.ControlFD)
		}
	}()
	<-done
	return taking, noSockets, err
}

// canBroker tests the access to a confined thread, on a thread with the rights of a broker.
func canBroker(tid int) error {
	// Nothing is mapped at address 8. EFAULT means that the access itself is allowed.
	if _, err := notify.ReadMemory(tid, 8, 1); err != nil && err != unix.EFAULT {
		return err
	}
	for _, link := range []string{"cwd", "root"} {
		fd, err := pathwalk.OpenProc(tid, link, 0)
		if err != nil {
			return err
		}
		unix.Close(fd)
	}
	// A command always runs as codeagent's user and group.
	if os.Getuid() != os.Geteuid() || os.Getgid() != os.Getegid() {
		return errors.New("the real and the effective user or group of codeagent differ (setuid or setgid)")
	}
	return nil
}

// threadOf finds the thread of a process whose number in its PID namespace is inside.
func threadOf(process, inside int) (int, error) {
	tids, err := processes.ThreadsOf(process)
	if err != nil {
		return 0, err
	}
	for _, tid := range tids {
		if _, thread := kernel.InsideNumbers(tid); thread == inside {
			return tid, nil
		}
	}
	return 0, fmt.Errorf("process %d has no thread with the number %d in its PID namespace", process, inside)
}
