//go:build linux

package linuxsandbox

import (
	"context"
	"errors"
	"os"
	"reflect"
	"sync"

	"codeagent/linuxsandbox/broker"
	"codeagent/linuxsandbox/broker/sockets"
	"codeagent/linuxsandbox/control"
	"codeagent/linuxsandbox/keeper"
	"codeagent/linuxsandbox/netns"
	"codeagent/linuxsandbox/plan"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"

	"golang.org/x/sys/unix"
)

// The first keeper of a session makes the namespaces that later ones join, and its self-test shows
// what this machine can enforce.
//
//	Options.Ahead         it is started at once, before it is known what it will do
//	Enforcement first     a keeper of its own, without a command (probe)
//	Start first           the command's keeper, planned for a machine that has everything; if it
//	                      shows anything else, it ends before its command, and probe follows

// probe returns the facts of a keeper that runs no command. It runs once a session, and not at all
// where a command was first.
// p is the policy of the first command, nil if that is not known.
func (b *Backend) probe(p *resolved.Policy) (plan.Facts, error) {
	b.probing.Lock()
	defer b.probing.Unlock()
	if b.known {
		return b.probed, b.probeErr
	}
	if b.containers != nil {
		return b.probeContainer(p)
	}
	b.known = true
	if b.outer != nil {
		b.probed, b.probeErr = b.probeInside()
		return b.probed, b.probeErr
	}
	if why := b.tryNamespaces(); why != nil {
		b.probed, _, b.probeErr = b.tryKeeper(nil)
		b.probed.NamespacesWhy = why.Error()
		b.serveBeside()
	}
	return b.probed, b.probeErr
}

// serveBeside makes the network of a session that has none of its own.
func (b *Backend) serveBeside() {
	if b.probeErr != nil || !b.probed.Broker || b.probed.Sockets != sockets.TakesCopies {
		return
	}
	conf, _ := os.ReadFile("/etc/resolv.conf") // see readHosts
	b.readHosts()
	net, err := netns.Beside(string(conf), b.outside)
	if err != nil {
		b.probed.NoSockets = err.Error()
		return
	}
	b.brokers.Net, b.probed.Beside = net, true
}

// readHosts reads hosts(5). Without it, resolver libraries use their defaults.
func (b *Backend) readHosts() {
	hosts, _ := os.ReadFile("/etc/hosts")
	b.outside.Hosts = string(hosts)
}

// tryNamespaces returns why keepers get no namespaces here; nil if they do.
func (b *Backend) tryNamespaces() error {
	if b.plain != nil {
		return b.plain
	}
	waited := b.ahead != nil
	f, made, err := b.tryKeeper(&spec.Mounts{Memory: true, Devices: true, Terminals: true})
	if err != nil && waited { // anybody may have killed it meanwhile
		f, made, err = b.tryKeeper(&spec.Mounts{Memory: true, Devices: true, Terminals: true})
	}
	if noPIDs := err; noPIDs != nil && !inNetwork(noPIDs) {
		// In a container that covers parts of /proc, the kernel refuses to mount another /proc.
		f, made, err = b.tryKeeper(&spec.Mounts{HostProc: true, Memory: true, Devices: true, Terminals: true})
		f.NoPIDs = "a helper in one could not start: " + innerError(noPIDs)
	}
	if err != nil {
		return errors.New(innerError(err))
	}
	b.adopt(f, made)
	return nil
}

// inNetwork reports whether a keeper failed in the network namespace that it made.
func inNetwork(err error) bool {
	failed := (*sandbox.StartError)(nil)
	return errors.As(err, &failed) && failed.Stage == spec.StageNetwork
}

// innerError is the cause inside a start error, without the stage and exit code.
func innerError(err error) string {
	if refused := (*sandbox.StartError)(nil); errors.As(err, &refused) {
		return refused.Err.Error()
	}
	return err.Error()
}

// adopt makes the namespaces of the first keeper those of the session.
func (b *Backend) adopt(f plan.Facts, made *netns.Namespaces) {
	b.readHosts()
	b.namespaces, b.brokers.Net = made, made.Serve(b.outside)
	b.known, b.probed = true, f
}

// firstKeeper is the first keeper of a session. It sets up the namespaces into which it was cloned, hands
// over the sockets that it makes there, and waits for its Spec.
type firstKeeper struct {
	keeper *keeperProcess
	made   *netns.Namespaces
}

// openSession starts the first keeper of a session.
func (b *Backend) openSession(hostPIDs bool) (o firstKeeper, err error) {
	conf, _ := os.ReadFile("/etc/resolv.conf") // see readHosts
	if o.made, err = netns.Plan(string(conf)); err != nil {
		return o, startError("probe", err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return o, startError("probe", err)
	}
	defer null.Close()
	o.keeper, err = b.newKeeper(!hostPIDs, func(helper, control int) (int, error) {
		fd := int(null.Fd())
		files := []int{fd, fd, fd, control}
		if v := b.view; v != nil { // only in its user namespace can it be joined
			return forkKeeper(helper, &namespaces{user: v.user, net: -1, mount: v.mount, newNet: true, hostPIDs: hostPIDs}, files, false, nil, -1)
		}
		return cloneKeeper(helper, o.made, hostPIDs, files)
	})
	if err == nil {
		err = o.made.Open(o.keeper.pid, asRoot())
	}
	if err == nil {
		err = o.keeper.send(control.FrameSession, spec.Encode(spec.Session{NameServers: o.made.NameServers}))
	}
	if err != nil {
		o.end()
		return firstKeeper{}, startError("helper", err)
	}
	return o, nil
}

// end ends the keeper and releases what it made.
func (o firstKeeper) end() {
	if o.keeper != nil {
		o.keeper.close()
		o.keeper.reap()
	}
	o.made.Close()
}

// takeOpening returns the keeper that was started ahead, once, or starts one. The caller holds
// Backend.probing.
func (b *Backend) takeOpening() (firstKeeper, error) {
	if open := b.ahead; open != nil {
		b.ahead = nil
		return open()
	}
	return b.openSession(false)
}

// tryKeeper starts a keeper and takes it through its self-test. With mounts it makes namespaces, and
// returns them.
func (b *Backend) tryKeeper(mounts *spec.Mounts) (f plan.Facts, made *netns.Namespaces, err error) {
	order := spec.Spec{Rules: []spec.Rule{{Path: "/", Access: spec.AccessRead}}, Mounts: mounts, Probe: true, Ask: true, PathSockets: true}
	var o firstKeeper
	switch {
	case mounts == nil:
		o.keeper, err = b.startProbe(&order)
	case mounts.HostProc:
		o, err = b.openSession(true)
	default:
		o, err = b.takeOpening()
	}
	if err != nil {
		return f, nil, err
	}
	if o.made != nil {
		order.Network, order.HostNet, order.First = true, o.made.HostNet, true
	}
	if err = o.keeper.sendSpec(context.Background(), order); err == nil {
		var listener int
		if f, listener, err = o.keeper.discover(context.Background(), o.made, b.tried); listener >= 0 {
			unix.Close(listener)
		}
	}
	if err != nil {
		o.end()
		return f, nil, err
	}
	o.keeper.close()
	o.keeper.reap()
	return f, o.made, nil
}

// startProbe starts a keeper without namespaces.
func (b *Backend) startProbe(order *spec.Spec) (*keeperProcess, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, startError("probe", err)
	}
	defer null.Close()
	fd := int(null.Fd())
	k, err := b.startKeeper([]int{fd, fd, fd}, false, order, nil, -1)
	if err != nil {
		return nil, startError("helper", err)
	}
	return k, nil
}

// discover receives what a keeper found out that is the first of the session, or has no namespaces,
// and tests on it whether a broker could work, unless one was tried in this process
// before. The listener is -1 if the keeper sent none.
func (k *keeperProcess) discover(ctx context.Context, made *netns.Namespaces, tried bool) (f plan.Facts, listener int, err error) {
	if made != nil {
		if err := k.furnish(ctx, made); err != nil {
			return f, -1, err
		}
		f.Namespaces, f.HostNet = true, made.HostNet
	}
	f.Facts, listener, err = k.confined(ctx)
	switch {
	case err != nil || listener < 0:
	case tried:
		f.Sockets = sockets.TakesCopies
	default:
		tryBroker(&f, k.pid)
	}
	return f, listener, err
}

// furnish receives the sockets that the first keeper of a session made.
func (k *keeperProcess) furnish(ctx context.Context, made *netns.Namespaces) error {
	kind, kinds, fds, err := k.receive(ctx)
	if err != nil {
		return err
	}
	door, err := control.Door(kinds, fds)
	if err == nil && kind != control.FrameDoor {
		err = unexpected(kind)
	}
	if err != nil {
		closeAll(fds)
		return startError("helper", err)
	}
	if err := made.Furnish(door); err != nil {
		return startError("helper", err)
	}
	return nil
}

// tryBroker tests whether a broker could work.
func tryBroker(f *plan.Facts, keeper int) {
	taking, noSockets, err := broker.Probe(keeper, f.Thread)
	if err != nil {
		f.Broker, f.NoBroker = false, "codeagent may not look at what it confines: "+err.Error()
		return
	}
	if f.Sockets = taking; noSockets != nil {
		f.NoSockets = noSockets.Error()
	}
}

// first is the start of a command whose keeper makes the session.
type first struct {
	backend *Backend
	made    *netns.Namespaces // since take
	// hoped is what the command's Spec was planned for.
	hoped plan.Facts
	// release unlocks Backend.probing, at the latest when the start is over.
	release func()
	adopted bool
}

// startFirst starts the first command of a session, if nothing is known about this machine. It
// reports false if the command must be started in the ordinary way.
func (b *Backend) startFirst(ctx context.Context, p resolved.Policy, cmd sandbox.Command, command spec.Command, h sandbox.Holder) (sandbox.Process, error, bool) {
	b.probing.Lock()
	release := sync.OnceFunc(b.probing.Unlock)
	defer release()
	if b.known || b.plain != nil || b.outer != nil || b.containers != nil {
		return nil, nil, false
	}
	one, err := b.planFirst(release)
	if err != nil {
		return nil, nil, false
	}
	proc, err := b.startUnder(ctx, p, cmd, command, h, b.withPolicy(one.hoped, p), one)
	if one.adopted {
		return proc, err, true
	}
	one.made.Close()
	if errors.Is(err, errOrdinary) && ctx.Err() != nil { // its time is over meanwhile
		err = startError("probe", context.Cause(ctx))
	}
	return nil, err, ctx.Err() != nil
}

// planFirst plans for a machine that has everything.
func (b *Backend) planFirst(release func()) (*first, error) {
	host, err := netns.HostNet()
	if err != nil {
		return nil, err
	}
	return &first{backend: b, release: release, hoped: plan.Facts{
		Facts:      spec.Facts{LandlockABI: keeper.LandlockABI(), Root: asRoot(), Broker: true},
		Namespaces: true, HostNet: host, Sockets: sockets.TakesCopies,
	}}, nil
}

// errOrdinary ends the start of a first command that cannot show what this machine can enforce.
var errOrdinary = errors.New("the machine must be probed first")

// take returns the session's first keeper, and makes order its order. The mounts must be those that
// later commands may need, and it must have the session's network.
func (o *first) take(order *spec.Spec) (*keeperProcess, error) {
	m := order.Mounts
	if m == nil || !m.Devices || !m.Terminals || order.HostNet == 0 || !order.Network || !order.Ask || !order.PathSockets {
		return nil, startError("probe", errOrdinary)
	}
	opened, err := o.backend.takeOpening()
	if err != nil {
		return nil, err
	}
	order.First, o.made = true, opened.made
	return opened.keeper, nil
}

// meet compares what the keeper found with what its order was planned for, and returns the listener.
// The keeper still waits to start the command.
func (o *first) meet(ctx context.Context, k *keeperProcess) (listener int, err error) {
	f, listener, err := k.discover(ctx, o.made, o.backend.tried)
	if err != nil {
		return listener, err
	}
	// No Spec depends on these.
	o.hoped.SignalProof, o.hoped.CoreHandler, o.hoped.Thread = f.SignalProof, f.CoreHandler, f.Thread
	if !reflect.DeepEqual(f, o.hoped) {
		if listener >= 0 {
			unix.Close(listener)
		}
		return -1, errOrdinary
	}
	o.backend.adopt(f, o.made)
	o.adopted = true
	o.release()
	return listener, nil
}
