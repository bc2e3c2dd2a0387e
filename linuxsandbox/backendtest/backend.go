//go:build linux

package backendtest

import (
	"errors"
	"os"
	"reflect"
	"sync"
	"testing"
	"time"
	"unsafe"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox"
	"codeagent/linuxsandbox/cgroup"
	"codeagent/linuxsandbox/netns"
	"codeagent/linuxsandbox/plan"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// own are the tests of the package that runs.
var own *attack.Tests

// Tests returns the tests of the package with this import path. They run again as other users and in
// other settings.
func Tests(path string) *attack.Tests {
	own = &attack.Tests{Package: path, Env: []string{sandboxtest.NoPause}}
	return own
}

// Main is TestMain of such a package.
func Main(m *testing.M) {
	attack.Launcher()
	sandboxtest.HeedSignals()
	code := machine.Run(m)
	own.Remove()
	os.Exit(code)
}

// New returns a backend that looks for a policy's globs as long as it takes, finds the names of Theatre.Names, and
// has no control groups: the effect of a limit must not depend on the group in which the tests run.
func New(t testing.TB) *linuxsandbox.Backend {
	t.Helper()
	names := &FakeNames{}
	b, err := linuxsandbox.New(linuxsandbox.Options{Helper: own.Helper(t), Lookup: names.find, Proxy: names.proxyOf})
	if err != nil {
		t.Fatal(err)
	}
	Patient(b)
	inside[netns.Outside](b, "outside").Closed = names.closed
	fakes.Store(b, names)
	(*inside[*cgroup.Groups](b, "groups")).Close()
	return b
}

// Patient lets b look for a policy's globs as long as it takes: without, a slow machine leaves files open that a test
// expects to be closed, and b says so.
func Patient(b *linuxsandbox.Backend) { *inside[*plan.Globs](b, "globs") = plan.NewGlobs(time.Hour) }

// NewPlain returns one whose keepers get no namespaces.
func NewPlain(t testing.TB) *linuxsandbox.Backend {
	t.Helper()
	b := New(t)
	*inside[error](b, "plain") = errors.New("the test wants none")
	return b
}

// InSetting returns a backend in a process of a setting, which the named test starts, and its facts.
// The test closes it when it ends.
func InSetting(t *testing.T, test string) (*linuxsandbox.Backend, plan.Facts) {
	t.Helper()
	attack.CurrentSetting(t, test)
	b := New(t)
	t.Cleanup(func() { b.Close() })
	return b, *Facts(t, b)
}

// Facts are what b has found out about this machine. A test may change them for later commands.
func Facts(t testing.TB, b *linuxsandbox.Backend) *plan.Facts {
	t.Helper()
	if _, err := sandboxtest.Enforcement(b, sandbox.ReadOnly()); err != nil {
		t.Fatal(err)
	}
	return inside[plan.Facts](b, "probed")
}

// Namespaces are those of the session of b; nil if it has none.
func Namespaces(b *linuxsandbox.Backend) *netns.Namespaces {
	return *inside[*netns.Namespaces](b, "namespaces")
}

// Network is that of the session of b; nil if it has none.
func Network(b *linuxsandbox.Backend) *netns.Network {
	return *inside[*netns.Network](b, "brokers", "Net")
}

// Connections counts what the network of b knows of connections to hosts.
func Connections(b *linuxsandbox.Backend) int {
	n := Network(b)
	mu := inside[sync.Mutex](n, "relay", "mu")
	mu.Lock()
	defer mu.Unlock()
	relay := reflect.ValueOf(n).Elem().FieldByName("relay").Elem()
	return relay.FieldByName("expected").Len() + relay.FieldByName("carried").Len()
}

// Keeper is the process ID of a command's keeper.
func Keeper(p sandbox.Process) int { return *inside[int](p, "keeper", "pid") }

// inside is an unexported field. An option for what only tests change could be set by the product too, and
// would leave out what confines a command.
func inside[T any](of any, path ...string) *T {
	v := reflect.ValueOf(of)
	for _, name := range path {
		v = reflect.Indirect(v).FieldByName(name)
	}
	if v.Type() != reflect.TypeFor[T]() {
		panic(path[0] + " is a " + v.Type().String())
	}
	return (*T)(unsafe.Pointer(v.UnsafeAddr()))
}
