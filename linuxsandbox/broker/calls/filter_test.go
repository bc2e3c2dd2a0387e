//go:build linux

package calls

import (
	"runtime"
	"slices"
	"testing"

	"codeagent/linuxsandbox/filter"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"
)

// libraryNumbers are the library's numbers of the system calls of an architecture.
func libraryNumbers(t *testing.T, goarch string) map[string]int {
	t.Helper()
	info, err := arch.GetInfo(goarch)
	if err != nil {
		t.Fatal(err)
	}
	return info.SyscallNames
}

// TestBrokerKnowsWhatTheFilterAsks: the broker must handle exactly the calls that the filter sends.
// A call without a handler would get ENOSYS, and a call that is not sent would bypass its handler.
func TestBrokerKnowsWhatTheFilterAsks(t *testing.T) {
	var asked, known []string
	others := append(filter.Asked(filter.Options{AllowUnix: true}), "socket", "socketpair")
	for _, name := range filter.Asked(filter.Options{Ask: true}) {
		if !slices.Contains(others, name) {
			asked = append(asked, name)
		}
	}
	numbers := map[string]int{}
	for _, c := range MetadataChanges {
		numbers[c.Name] = c.NR
	}
	for _, c := range Files {
		numbers[c.Name] = c.NR
	}
	numbers["umask"] = unix.SYS_UMASK
	for name, nr := range numbers {
		known = append(known, name)
		if n := libraryNumbers(t, "amd64")[name]; runtime.GOARCH == "amd64" && n != nr {
			t.Errorf("%s has the number %d, the library says %d", name, nr, n)
		}
	}
	slices.Sort(asked)
	slices.Sort(known)
	if runtime.GOARCH == "amd64" && !slices.Equal(asked, known) {
		t.Errorf("asked %v\nknown %v", asked, known)
	}
}

// TestBrokerKnowsWhatIsTold: the broker has a handler, by name, for every call that the filter
// sends whenever there is a broker.
func TestBrokerKnowsWhatIsTold(t *testing.T) {
	var asked, known []string
	for _, name := range filter.Asked(filter.Options{AllowUnix: true}) {
		if !slices.Contains([]string{"exit_group", "connect", "bind", "getsockname", "getpeername"}, name) {
			asked = append(asked, name)
		}
	}
	for _, c := range RefusedCalls {
		known = append(known, c.Name)
		if n := libraryNumbers(t, runtime.GOARCH)[c.Name]; n != c.NR {
			t.Errorf("%s has the number %d, the library says %d", c.Name, c.NR, n)
		}
	}
	for _, c := range Processes {
		known = append(known, c.Name)
	}
	known = append(known, "ioctl")
	slices.Sort(asked)
	slices.Sort(known)
	if !slices.Equal(asked, known) {
		t.Errorf("asked %v\nknown %v", asked, known)
	}
}

// TestBrokerKnowsWhatIsLookedUp: the same for the calls that only look up.
func TestBrokerKnowsWhatIsLookedUp(t *testing.T) {
	others := filter.Asked(filter.Options{Ask: true})
	known := map[string]bool{"fstatat": true} // another name of newfstatat
	for _, c := range Lookups {
		known[c.Name] = true
		if n, here := libraryNumbers(t, runtime.GOARCH)[c.Name]; here && n != c.NR {
			t.Errorf("%s has the number %d, the library says %d", c.Name, c.NR, n)
		}
		p := prototypes[c.Name]
		if c.Path != position(p, "path") || c.Dir != position(p, "dir") {
			t.Errorf("%s: %+v, want %q", c.Name, c, p)
		}
	}
	for _, name := range filter.Asked(filter.Options{Ask: true, AskLooks: true, AskPrograms: true}) {
		if runtime.GOARCH == "amd64" && !slices.Contains(others, name) && !known[name] {
			t.Errorf("the filter asks about %s, and no handler knows it", name)
		}
		delete(known, name)
	}
	if len(known) > 0 {
		t.Errorf("the filter never asks about %v", known)
	}
}
