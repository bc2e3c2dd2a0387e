//go:build linux

package filter

import (
	"runtime"
	"testing"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"codeagent/internal/attack"
)

// TestLibraryTraps shows why only the numbers of go-seccomp-bpf v1.6.0 are used. On programs that
// the library itself assembles from a deny list, each call below is refused in its plain form and
// passes in a disguised form; our filter refuses both. If a row fails with a later version, the
// library has fixed it and the row can go.
func TestLibraryTraps(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the library assembles for the machine it runs on; these disguises are amd64's")
	}
	equal := func(call string, arg uint32, v uint64) seccomp.SyscallGroup {
		return seccomp.SyscallGroup{Action: seccomp.ActionErrno, NamesWithCondtions: []seccomp.NameWithConditions{
			{Name: call, Conditions: seccomp.ArgumentConditions{{Argument: arg, Operation: seccomp.Equal, Value: v}}},
		}}
	}
	native := func(n uint32, args ...uint64) attack.Call {
		c := attack.Call{Number: n, Arch: unix.AUDIT_ARCH_X86_64}
		copy(c.Args[:], args)
		return c
	}
	ours, err := Program("amd64", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name            string
		groups          []seccomp.SyscallGroup
		plain, disguise attack.Call
	}{
		{"a foreign architecture gets the default action",
			[]seccomp.SyscallGroup{{Action: seccomp.ActionErrno, Names: []string{"ptrace"}}},
			native(unix.SYS_PTRACE), attack.Call{Number: 26, Arch: unix.AUDIT_ARCH_I386}},
		{"a socket family is compared in 64 bits",
			[]seccomp.SyscallGroup{equal("socket", 0, unix.AF_UNIX)},
			native(unix.SYS_SOCKET, unix.AF_UNIX), native(unix.SYS_SOCKET, unix.AF_UNIX|1<<32)},
		{"an ioctl request is compared in 64 bits",
			[]seccomp.SyscallGroup{equal("ioctl", 1, unix.TIOCSTI)},
			native(unix.SYS_IOCTL, 0, unix.TIOCSTI), native(unix.SYS_IOCTL, 0, unix.TIOCSTI|1<<32)},
		{"a group after one whose conditions failed sees the wrong register",
			[]seccomp.SyscallGroup{equal("socket", 0, unix.AF_UNIX), equal("socket", 0, unix.AF_ALG)},
			native(unix.SYS_SOCKET, unix.AF_UNIX), native(unix.SYS_SOCKET, unix.AF_ALG)},
	} {
		policy := seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: row.groups}
		code, err := policy.Assemble()
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := bpf.Assemble(code)
		if err != nil {
			t.Fatal(err)
		}
		judge := func(prog []bpf.RawInstruction, c attack.Call) action {
			v, _, err := attack.Interpret(prog, c)
			if err != nil {
				t.Fatal(err)
			}
			return action(v)
		}
		if judge(theirs, row.plain) == allow || judge(theirs, row.disguise) != allow {
			t.Errorf("%s: plain %#x, in disguise %#x", row.name, judge(theirs, row.plain), judge(theirs, row.disguise))
		}
		if judge(ours, row.disguise) == allow {
			t.Errorf("%s: our filter lets it through too", row.name)
		}
	}
}
