package sandbox_test

import (
	"strings"
	"testing"

	"codeagent/sandbox"
)

// TestSuggest: what is suggested, by what was refused.
func TestSuggest(t *testing.T) {
	p := sandbox.WorkspaceWrite("/home/u/ws")
	p.DenyRead, p.Protected.Own = []string{"/home/u/out/secret"}, []string{"/home/u/bin/codeagent"}
	for _, row := range []struct {
		text, operation string
		kind            sandbox.DenialKind
		targets         []string
		want            string
	}{
		{"touch ~/out/x", "openat", sandbox.KindWrite, []string{"/home/u/out/x"}, "w:/home/u/out/x"},
		{"sed -i s/a/b/ ~/out/f", "openat", sandbox.KindWrite, []string{"/home/u/out/sedAb12Cd"}, "w:/home/u/out"},
		{"npm i", "mkdir", sandbox.KindWrite, []string{"/home/u/.npm/_cacache"}, "w:/home/u/.npm/_cacache"},
		{"pip install x", "mkdir", sandbox.KindWrite, []string{"/home/u/.cache/pip/http"}, "w:/home/u/.cache/pip"},
		{"git config --global a.b c", "openat", sandbox.KindWrite, []string{"/home/u/.gitconfig.lock"}, "w:/home/u/.gitconfig w:/home/u/.gitconfig.lock"},
		{"git -C ~/out/r commit", "mkdir", sandbox.KindWrite, []string{"/home/u/out/r/.git/objects/ab"}, "w:/home/u/out/r/.git"},
		{"git config a.b c", "openat", sandbox.KindProtected, []string{"/home/u/ws/.git/config"}, "w:/home/u/ws/.git/config"},
		{"rm -r ~/out/dir", "unlinkat", sandbox.KindWrite, []string{"/home/u/out/dir/g", "/home/u/out/dir/h"}, "w:/home/u/out/dir"},
		{"mv ~/out/f ~/out/g", "renameat2", sandbox.KindWrite, []string{"/home/u/out/g", "/home/u/out/f"}, "w:/home/u/out/g w:/home/u/out/f"},
		{"chmod -R a ~/out/dir", "fchmodat", sandbox.KindMetadata, []string{"/home/u/out/dir", "/home/u/out/dir/g"}, "w:/home/u/out/dir"},
		{"tool", "openat", sandbox.KindWrite, []string{"/home/u/out/a", "/home/u/out/b", "/home/u/out/c", "/home/u/out/d", "/home/u/out/e"}, "w:/home/u/out"},
		{"tool", "openat", sandbox.KindWrite, []string{"/home/u/tmp.AbCdEf12"}, "w:/home/u/tmp.AbCdEf12"},
		{"tool", "rmdir", sandbox.KindWrite, []string{"/home/u"}, ""},
		{"tool", "openat", sandbox.KindWrite, []string{"/etc", "/x", "/home/u/bin/codeagent"}, ""},
		{"tool", "restored", sandbox.KindProtected, []string{"/home/u/ws/bin/x"}, ""},
		{"cat", "open", sandbox.KindRead, []string{"/home/u/out/secret", "/home/u/out/other"}, "r:/home/u/out/secret"},
		{"curl http://example.com:81/x", "lookup", sandbox.KindNetwork, []string{"example.com", "example.com:81"}, "h:example.com:81"},
		{"tool", "lookup", sandbox.KindNetwork, []string{"example.com"}, "h:example.com"},
		{"tool", "socket", sandbox.KindNetwork, []string{"socket"}, ""},
		{"tool", "connect", sandbox.KindSocket, []string{"/run/s"}, "s:/run/s"},
		{"tool", "connect", sandbox.KindSocket, []string{"@abstract"}, ""},
		{"tool", "bind", sandbox.KindWrite, []string{"/home/u/run/s"}, "w:/home/u/run"},
		{"tool", "mount", sandbox.KindSyscall, []string{"mount"}, "!"},
	} {
		var denials []sandbox.Denial
		for _, target := range row.targets {
			denials = append(denials, sandbox.Denial{Kind: row.kind, Operation: row.operation, Target: target}, sandbox.Denial{Kind: sandbox.KindWrite, Target: "/home/u/out/moot", Moot: true})
		}
		g := sandbox.Suggest(p, "/home/u", []string{"bash", "-c", row.text}, denials)
		var got []string
		for _, w := range g.Write {
			got = append(got, "w:"+w)
		}
		for _, r := range g.Read {
			got = append(got, "r:"+r)
		}
		for _, h := range g.Hosts {
			got = append(got, "h:"+h.String())
		}
		for _, s := range g.Sockets {
			got = append(got, "s:"+s)
		}
		if g.Unsandboxed {
			got = append(got, "!")
		}
		if strings.Join(got, " ") != row.want {
			t.Errorf("%s, %v: suggests %q, want %q", row.text, row.targets, got, row.want)
		}
	}
}
