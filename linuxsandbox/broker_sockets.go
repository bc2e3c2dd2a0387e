//go:build linux

package linuxsandbox

import (
	"os"
	"slices"
	"strings"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/broker/sockets"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/netns"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// forSockets is the broker as the sockets of the command know it.
type forSockets struct {
	walk     *pathwalk.Walker
	judge    *judge
	held     *holding
	deny     *refuser
	log      *evidence
	observer *observer
	posts    *posts
	session  *brokerSession
}

// Policy is the policy by now.
func (f *forSockets) Policy() *sandbox.Policy { return &f.judge.policy }

// Record records a refusal.
func (f *forSockets) Record(n *notify.Notification, d sandbox.Denial) { f.log.record(n, d) }

// Unread is the errno of a call that could not be looked at.
func (f *forSockets) Unread(n *notify.Notification, call string, kind sandbox.DenialKind, err error) unix.Errno {
	return f.deny.unread(n, call, kind, err)
}

// Refuse records a refusal that can be granted, unless somebody grants it.
func (f *forSockets) Refuse(n *notify.Notification, r sockets.Refusal) notify.Reply {
	out := refusal{denial: &r.Denial, call: r.Call, errno: r.Errno, requested: r.Requested}
	if r.File >= 0 {
		out.pins = []pin{{fd: r.File, path: r.Path, asked: r.Asked}}
	}
	return f.held.refuse(n, out)
}

// OpenFile returns a reference to the file that path leads to. Where the command has
// mounts of its own, a granted socket may lie below one of them: it is the host's.
func (f *forSockets) OpenFile(n *notify.Notification, path string) (fd int, target string, err error) {
	fd, err = f.walk.Open(n, pathwalk.Name{Dir: unix.AT_FDCWD, Path: path})
	if err == unix.ENOENT && slices.Contains(f.judge.policy.Sockets, path) {
		fd, err = kernel.OpenPath(path)
	}
	if err != nil {
		return -1, "", err
	}
	return fd, f.walk.PolicyPath(fd), nil
}

// MakeFile has make bind a socket to a name in an open folder.
func (f *forSockets) MakeFile(n *notify.Notification, path string, make func(dir int, name string, mask, own uint32) unix.Errno) notify.Reply {
	slash := strings.LastIndexByte(path, '/')
	folder, base := path[:slash+1], path[slash+1:]
	if base == "" {
		return notify.Failed(unix.ENOENT) // a folder cannot be made this way
	}
	if base == "." || base == ".." {
		return notify.Failed(unix.EADDRINUSE)
	}
	if folder == "" {
		folder = "."
	}
	parent, err := f.walk.Open(n, pathwalk.Name{Dir: unix.AT_FDCWD, Path: folder})
	if err != nil {
		return notify.Failed(f.deny.unread(n, "bind", sandbox.KindSocket, err))
	}
	s := f.walk.SpotIn(parent, base, false)
	s.Asked = path
	defer s.Close()
	mask, err := maskOf(n.Thread())
	if err != nil || !n.Waits() {
		return notify.Failed(unix.ESRCH)
	}
	own, err := maskOf(os.Getpid())
	if err != nil {
		own = 0
	}
	f.session.mu.Lock()
	defer f.session.mu.Unlock()
	target := s.Full()
	var d *sandbox.Denial
	if f.judge.protection.brokered(target) {
		d = f.judge.refusesPath(n, target)
	} else if judged := f.judge.policy.JudgeWrite(target); !judged.Allowed {
		d = &sandbox.Denial{Kind: judged.Kind, Target: target}
	}
	if d != nil {
		return f.held.refuse(n, refusal{denial: d, call: "bind", errno: unix.EPERM, pins: []pin{pinOf(s)}})
	}
	if f.session.sockets.Full() {
		return notify.Failed(unix.ENOSPC)
	}
	if a, first := f.observer.keepEntries(s); first {
		return a
	}
	return notify.Failed(make(s.Dir, base, uint32(mask), uint32(own)))
}

// LookUp has a question of the command for a name answered on the broker's thread.
func (f *forSockets) LookUp(n *notify.Notification, client *netns.Client, q *netns.Question) bool {
	return f.posts.add(func() { f.lookUp(n, client, q) })
}

func (f *forSockets) lookUp(n *notify.Notification, client *netns.Client, q *netns.Question) {
	allowed := func(name string) bool { return netns.MayLookUp(&f.judge.policy, name) }
	d := sandbox.Denial{Kind: sandbox.KindNetwork, Operation: "lookup", Target: q.Name}
	switch {
	case allowed(q.Name):
		q.Answer()
	case !client.NewName(q.Name, allowed):
		q.Refuse()
	case f.held.learn(n, nil, d):
		f.held.forget()
		q.Answer()
	case q.Datagram && f.held.holds(&d):
		q.Shorten()
	case f.held.holdLookup(n, d, func(yes bool) {
		if yes {
			q.Answer()
		} else {
			q.Refuse()
		}
	}):
	default:
		if client.Counts(q, n.TID) {
			f.log.record(n, d)
		}
		q.Refuse()
	}
}
