package verdict

import (
	"slices"
	"testing"

	"codeagent/sandbox"
)

// TestProbes: a link or rename between file systems that a program went on from is neither named nor
// suggested beside the refusal at which it ended.
func TestProbes(t *testing.T) {
	denied := func(operation, target, errno string, pid, order int) sandbox.Denial {
		d := refusedTo("tool", pid)
		if pid != 10 {
			d.Chain = []sandbox.Ancestor{{Program: "tool", PID: 10}}
		}
		d.Operation, d.Target, d.Errno, d.Order = operation, "/home/u/out/"+target, errno, order
		return d
	}
	probe := denied("linkat", "store/a", "EXDEV", 10, 1)
	for name, row := range map[string]struct {
		denials []sandbox.Denial
		want    []string
	}{
		"a hard link":       {[]sandbox.Denial{probe, denied("openat", "b", "EACCES", 10, 2)}, []string{"/home/u/out/b"}},
		"a rename":          {[]sandbox.Denial{denied("renameat2", "c", "EXDEV", 10, 1), denied("unlinkat", "d", "EACCES", 10, 2)}, []string{"/home/u/out/d"}},
		"two of them":       {[]sandbox.Denial{probe, denied("linkat", "store/b", "EXDEV", 10, 2), denied("mkdirat", "m", "EACCES", 10, 3)}, []string{"/home/u/out/m"}},
		"nothing else":      {[]sandbox.Denial{probe}, []string{"/home/u/out/store/a"}},
		"at its end":        {[]sandbox.Denial{denied("openat", "b", "EACCES", 10, 1), denied("linkat", "store/a", "EXDEV", 10, 2)}, []string{"/home/u/out/b", "/home/u/out/store/a"}},
		"another's refusal": {[]sandbox.Denial{probe, denied("openat", "b", "EACCES", 11, 2)}, []string{"/home/u/out/store/a"}},
	} {
		e := Evidence{Policy: sandbox.WorkspaceWrite("/home/u/ws"), Dir: "/home/u/ws", Home: "/home/u", Argv: []string{"tool"}, Status: sandbox.Status{Exit: 1},
			Trace: sandbox.Trace{Evidence: sandbox.EvidenceFull, Denials: row.denials, Exits: []sandbox.Exit{{PID: 11, Parent: 10, Comm: "tool", Order: 8}, {PID: 10, Parent: 9, Comm: "tool", Status: 1, Order: 9}}}}
		v := Judge(e, bare{})
		var told []string
		for _, d := range v.Denials {
			if !d.Moot {
				told = append(told, d.Target)
			}
		}
		if !v.Denied || !slices.Equal(told, row.want) || !slices.Equal(v.Suggest.Write, row.want) {
			t.Errorf("%s: told %q, suggests %q, want %q", name, told, v.Suggest.Write, row.want)
		}
	}
}
