//go:build linux

package linuxsandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"codeagent/linuxsandbox/broker/sockets"
	"codeagent/linuxsandbox/control"
	"codeagent/linuxsandbox/keeper"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/netns"
	"codeagent/linuxsandbox/plan"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"

	"golang.org/x/sys/unix"
)

// Outer is a program that makes mounts and namespaces and then starts a command's keeper in them. Its backend needs
// neither Landlock nor seccomp's user notification. The keeper installs the filter, sets limits, starts the command and
// ends it, as in every backend on Linux; it refuses to start where the mounts are not those of the plan.
type Outer interface {
	// Name is that of the backend.
	Name() string
	// Argv is the command line of the program, to which that of the keeper is appended. All descriptors that the program
	// inherits must stay open in the keeper, which must be process 1 of a PID namespace.
	Argv(e Enclosure) ([]string, error)
	// Follows reports that the keeper gets no right to cut its mounts off from those that are made outside later.
	Follows() bool
}

// Enclosure is what an Outer makes.
type Enclosure struct {
	*plan.Mounts
	// Read are the roots that the command may read, if Mounts.ReadsAll is false.
	Read []sandbox.Root
	// HostNet leaves the command in codeagent's own network.
	HostNet bool
	// Root and FileCaps: the command runs as uid 0, and retains spec.FileCaps.
	Root, FileCaps bool
}

// StandardDevices are the entries that a new /dev has, of bwrap as of containers.
var StandardDevices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/pts", "/dev/ptmx"}

// NewInside returns a backend whose commands run inside of outer. It starts no process.
func NewInside(o Options, outer Outer) (*Backend, error) {
	o.Ahead = false
	b, err := New(o)
	if err == nil {
		b.outer = outer
	}
	return b, err
}

// enclosure plans what the outer program makes, and what the keeper tests of it.
func (b *Backend) enclosure(order *spec.Spec, m *plan.Mounts, read []sandbox.Root) (argv []string, err error) {
	w := &spec.Walls{
		Writable: slices.Concat(m.Writable, m.Private, m.OwnFolders(), m.Granted, []string{kernel.ShmDir, kernel.PtsDir}),
		Follows:  b.outer.Follows(),
		ReadOnly: slices.DeleteFunc(slices.Clone(m.Protected), func(path string) bool { return sandbox.CoveredBy(m.Granted, path) }),
	}
	for _, path := range slices.Concat(m.Writable, m.Readable, m.Named) {
		place, err := spec.PlaceOf(path, path)
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ELOOP) && slices.Contains(m.Named, path) {
			continue // an optional root that was removed meanwhile; a name in /tmp that is a link
		}
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
		w.Shown = append(w.Shown, place)
	}
	for _, path := range m.Private {
		place, err := spec.PlaceOf(m.Temp, path)
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: m.Temp, Err: err}
		}
		w.Shown = append(w.Shown, place)
	}
	// The single device nodes of the new /dev are mounts of their own.
	for _, rule := range order.Rules {
		if rule.Access == spec.AccessDevice {
			w.Writable = append(w.Writable, rule.Path)
		}
	}
	w.Writable = append(w.Writable, spec.ConsoleDev)
	order.Mounts, order.Walls = nil, w
	return b.outer.Argv(Enclosure{
		Mounts: m, Read: read, HostNet: order.Network && order.HostNet == 0, Root: asRoot(), FileCaps: order.KeepFileCaps,
	})
}

// probeInside finds out what a keeper can do inside of the outer program. The caller holds Backend.probing.
func (b *Backend) probeInside() (f plan.Facts, err error) {
	f = plan.Facts{Namespaces: true, Outer: b.outer.Name(), Follows: b.outer.Follows()}
	f.HostNet, _ = netns.HostNet() // without it the filter shuts the command's own network too
	ready, err := plan.New(resolved.ReadOnly(), f)
	if err != nil {
		return f, startError(f.Outer, err)
	}
	order := ready.Spec
	order.Probe, order.Network = true, f.HostNet != 0
	argv, err := b.enclosure(&order, ready.Mounts, nil)
	if err != nil {
		return f, startError(f.Outer, err)
	}
	said, words, err := os.Pipe()
	if err != nil {
		return f, startError(f.Outer, err)
	}
	defer said.Close()
	defer words.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return f, startError(f.Outer, err)
	}
	defer null.Close()
	k, err := b.startKeeper([]int{int(null.Fd()), int(null.Fd()), int(words.Fd())}, false, &order, argv, -1)
	if err != nil {
		return f, startError(f.Outer, err)
	}
	if err = k.sendSpec(context.Background(), order); err == nil {
		f.Facts, _, err = k.confined(context.Background())
	}
	k.close()
	k.reap()
	f.NoBroker = f.Outer + " runs commands without codeagent's broker"
	if err != nil {
		words.Close()
		_ = said.SetReadDeadline(time.Now().Add(time.Second))
		text, _ := io.ReadAll(io.LimitReader(said, 500))
		why := cmp.Or(strings.TrimSpace(string(text)), innerError(err))
		return f, startError(f.Outer, fmt.Errorf("%s cannot confine a command here: %s", f.Outer, why))
	}
	return f, nil
}

// container returns the one of a command, and plans what the keeper tests of it.
func (b *Backend) container(ctx context.Context, order *spec.Spec, m *plan.Mounts, p resolved.Policy, dir string) (*container, error) {
	helper, err := b.helper()
	if err != nil {
		return nil, err
	}
	binds := bindsFor(m, p, dir)
	w := &spec.Walls{Shared: true, ReadOnly: slices.DeleteFunc(slices.Clone(m.Protected), func(path string) bool { return sandbox.CoveredBy(m.Granted, path) })}
	for _, bind := range binds {
		if !bind.covered && !sandbox.Covers(kernel.DevDir, bind.Source) {
			w.Shown = append(w.Shown, bind.at)
		}
	}
	order.Rules = append(order.Rules, spec.Rule{Path: ownHelper, Access: spec.AccessRead})
	if m.Memory {
		order.Rules = append(order.Rules, spec.Rule{Path: kernel.ShmDir, Access: spec.AccessWrite})
	}
	order.Walls = w
	o := ContainerOrder{HostNet: order.Network && order.HostNet == 0, FileCaps: order.KeepFileCaps}
	return b.containers.enter(ctx, helper, o, binds, len(p.Read) == 0 && order.Ask)
}

// probeContainer starts the session's container, for a policy if one is given, and finds out what a keeper can do in it and
// whether codeagent's broker can serve it. An error about the policy is not remembered. The caller holds Backend.probing.
func (b *Backend) probeContainer(p *resolved.Policy) (f plan.Facts, err error) {
	policy := resolved.ReadOnly()
	if p != nil && p.Network.Mode != sandbox.NetworkFull { // the others share its network
		policy = *p
	}
	f = plan.Facts{Namespaces: true, Outer: b.Name(), NoPIDs: "the commands of a container share one"}
	f.LandlockABI, f.Root, f.Broker, f.Sockets = keeper.LandlockABI(), asRoot(), true, sockets.TakesCopies
	if f.HostNet, err = netns.HostNet(); err != nil {
		return f, startError(f.Outer, err)
	}
	ready, err := plan.New(policy, b.withPolicy(f, policy))
	if err != nil {
		return f, startError("policy", err)
	}
	b.known = true
	order := ready.Spec
	c, err := b.container(context.Background(), &order, ready.Mounts, policy, "/")
	if err == nil {
		order.Probe, order.Ask, order.PathSockets, order.Network = true, true, true, true
		f.Lacks = b.containers.engine.Lacks(c.found)
		err = b.tryContainer(c, &f, order)
	}
	if b.probed = f; err != nil {
		b.probeErr = startError(f.Outer, errors.New(innerError(err)))
	}
	return b.probed, b.probeErr
}

// tryContainer finds out what a keeper can do in c.
func (b *Backend) tryContainer(c *container, f *plan.Facts, order spec.Spec) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	fd := int(null.Fd())
	k, err := c.keeper([]int{fd, fd, fd})
	if err != nil {
		return err
	}
	defer k.reap()
	defer k.close()
	if err := k.sendSpec(context.Background(), order); err != nil {
		return err
	}
	listener := -1
	if f.Facts, listener, err = k.confined(context.Background()); err != nil || listener < 0 {
		return err
	}
	unix.Close(listener)
	if tryBroker(f, k.pid); f.Broker {
		err := b.openNetwork(c, fd)
		if f.Broker = err == nil; err != nil {
			f.NoBroker = "codeagent cannot serve the network of the container: " + innerError(err)
		}
	}
	return nil
}

// openNetwork makes the network of a container that of the session: a keeper in it opens the sockets by which codeagent
// serves names and allowed hosts. That takes rights over the container, which root and the owner of its user namespace have.
func (b *Backend) openNetwork(c *container, null int) error {
	conf, _ := os.ReadFile("/etc/resolv.conf") // see readHosts
	made, err := netns.Plan(string(conf))
	if err != nil {
		return err
	}
	if err = made.Open(c.pid, asRoot()); err == nil {
		err = b.furnish(made, null)
	}
	if err != nil {
		made.Close()
		return err
	}
	b.readHosts()
	b.namespaces, b.brokers.Net = made, made.Serve(b.outside)
	return nil
}

func (b *Backend) furnish(made *netns.Namespaces, null int) error {
	k, err := b.newKeeper(false, func(helper, control int) (int, error) {
		join := &namespaces{user: made.User, net: made.Net, mount: -1, hostPIDs: true, opens: true}
		return forkKeeper(helper, join, []int{null, null, null, control}, false, nil, -1)
	})
	if err != nil {
		return err
	}
	defer k.reap()
	defer k.close()
	if err := k.send(control.FrameSession, spec.Encode(spec.Session{NameServers: made.NameServers})); err != nil {
		return err
	}
	return k.furnish(context.Background(), made)
}
