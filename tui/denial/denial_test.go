package denial

import (
	"strings"
	"testing"

	"codeagent/sandbox"
)

func TestDenialWords(t *testing.T) {
	for _, c := range []struct {
		d    sandbox.Denial
		want string
	}{
		{sandbox.Denial{Kind: sandbox.KindWrite, Target: "/home/ada/.npm/_cacache"}, "⊘ write ~/.npm/_cacache (outside the workspace)"},
		{sandbox.Denial{Kind: sandbox.KindNetwork, Target: "example.org:443", Count: 3}, "⊘ connect example.org:443 ×3 (host not allowed)"},
		{sandbox.Denial{Kind: sandbox.KindNetwork, Target: "example.org"}, "⊘ look up example.org (host not allowed)"},
		{sandbox.Denial{Kind: sandbox.KindNetwork, Operation: "socket", Target: "netlink"}, "⊘ open socket netlink (sockets of this kind are closed)"},
		{sandbox.Denial{Kind: sandbox.KindNetwork, Operation: "socket", Target: "family 40"}, "⊘ open socket family 40 (sockets of this kind are closed)"},
		{sandbox.Denial{Kind: sandbox.KindSocket, Operation: "socketpair", Target: "unix datagram"}, "⊘ open socket unix datagram (sockets of this kind are closed)"},
		{sandbox.Denial{Kind: sandbox.KindWrite, Target: "/x\n⊘ write /y"}, "⊘ write /x␊⊘ write /y (outside the workspace)"},
		{sandbox.Denial{Kind: sandbox.KindWrite, Target: "/" + strings.Repeat("é", 400) + "/z"}, "⊘ write /" + strings.Repeat("é", 79) + "…" + strings.Repeat("é", 78) + "/z (outside the workspace)"},
		{sandbox.Denial{Kind: sandbox.KindMetadata, Operation: "fchmodat", Target: "/x"}, "⊘ change the mode of /x (outside the workspace)"},
		{sandbox.Denial{Kind: sandbox.KindMetadata, Operation: "utimensat", Target: "/x"}, "⊘ change the times of /x (outside the workspace)"},
		{sandbox.Denial{Kind: sandbox.KindMetadata, Operation: "flock", Target: "/x"}, "⊘ lock /x (outside the workspace)"},
		{sandbox.Denial{Kind: sandbox.KindMetadata, Operation: "ioctl", Target: "/x"}, "⊘ ioctl /x (outside the workspace)"},
		{sandbox.Denial{Kind: sandbox.KindWrite, Target: "/w/a"}, "⊘ write /w/a"}, // in a read-only session
		{sandbox.Denial{Kind: sandbox.KindWrite, Target: "/w"}, "⊘ write /w"},
		{sandbox.Denial{Kind: sandbox.KindWrite, Target: "/w2/a"}, "⊘ write /w2/a (outside the workspace)"},
		{sandbox.Denial{Kind: sandbox.KindMetadata, Operation: "fchmodat", Target: "/w/a"}, "⊘ change the mode of /w/a"},
		{sandbox.Denial{Kind: sandbox.KindProtected, Target: "/w/.git/hooks"}, "⊘ write /w/.git/hooks (protected)"},
		{sandbox.Denial{Kind: sandbox.KindRead, Target: "/w/.env"}, "⊘ read /w/.env (protected from reading)"},
		{sandbox.Denial{Kind: sandbox.KindRead, Target: "/s/undo", Why: "codeagent's own"}, "⊘ read /s/undo (codeagent's own)"},
		{sandbox.Denial{Kind: sandbox.KindSyscall, Target: "ptrace"}, "⊘ call ptrace (system call not allowed)"},
		{sandbox.Denial{Kind: sandbox.KindWrite, Target: "/x", Moot: true, MootReason: "/x does not exist"}, "⊘ write /x (/x does not exist)"},
	} {
		var got strings.Builder
		for _, s := range Line(c.d, "/home/ada", "/w", false) {
			got.WriteString(s.Text)
		}
		if got.String() != c.want {
			t.Errorf("got %q, want %q", got.String(), c.want)
		}
	}
}
