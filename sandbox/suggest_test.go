package sandbox_test

import (
	"io/fs"
	"strings"
	"testing"

	"codeagent/sandbox"
)

// TestSuggest checks the suggested grant for each kind of denial.
func TestSuggest(t *testing.T) {
	p := sandbox.WorkspaceWrite("/home/u/ws")
	files := there{"/home/u/tmp.AbCdEf12", "/home/u/out/dir", "/home/u/.npm", "/home/u/.cache/pip", "/home/u/out/r/.git/objects", "/home/u/ws/.git", "/home/u/ws/k", "/home/u/run"}
	p.DenyRead, p.Protected.Own, p.Protected.Paths = []string{"/home/u/out/secret"}, []string{"/home/u/bin/codeagent"}, []string{"/home/u/ws/.git/config", "/home/u/ws/k/1", "/home/u/ws/k/2", "/home/u/ws/k/3", "/home/u/ws/k/4", "/home/u/ws/k/5"}
	for _, row := range []struct {
		text, operation string
		kind            sandbox.DenialKind
		targets         []string
		want            string
	}{
		{"touch ~/out/x", "openat", sandbox.KindWrite, []string{"/home/u/out/x"}, "write /home/u/out/x"},
		{"sed -i s/a/b/ ~/out/f", "openat", sandbox.KindWrite, []string{"/home/u/out/sedAb12Cd"}, "write /home/u/out"},
		{"npm i", "mkdir", sandbox.KindWrite, []string{"/home/u/.npm/_cacache"}, "write /home/u/.npm/_cacache"},
		{"pip install x", "mkdir", sandbox.KindWrite, []string{"/home/u/.cache/pip/http"}, "write /home/u/.cache/pip"},
		{"git config --global a.b c", "openat", sandbox.KindWrite, []string{"/home/u/.gitconfig.lock"}, "write /home/u/.gitconfig write /home/u/.gitconfig.lock"},
		{"git -C ~/out/r commit", "mkdir", sandbox.KindWrite, []string{"/home/u/out/r/.git/objects/ab"}, "write /home/u/out/r/.git"},
		{"git config a.b c", "openat", sandbox.KindProtected, []string{"/home/u/ws/.git/config"}, "write /home/u/ws/.git/config"},
		{"rm -r ~/out/dir", "unlinkat", sandbox.KindWrite, []string{"/home/u/out/dir/g", "/home/u/out/dir/h"}, "write /home/u/out/dir"},
		{"mv ~/out/f ~/out/g", "renameat2", sandbox.KindWrite, []string{"/home/u/out/g", "/home/u/out/f"}, "write /home/u/out/g write /home/u/out/f"},
		{"chmod -R a ~/out/dir", "fchmodat", sandbox.KindMetadata, []string{"/home/u/out/dir", "/home/u/out/dir/g"}, "write /home/u/out/dir"},
		{"tool", "openat", sandbox.KindWrite, []string{"/home/u/out/a", "/home/u/out/b", "/home/u/out/c", "/home/u/out/d", "/home/u/out/e"}, "write /home/u/out"},
		{"tool", "openat", sandbox.KindProtected, []string{"/home/u/ws/k/1", "/home/u/ws/k/2", "/home/u/ws/k/3", "/home/u/ws/k/4", "/home/u/ws/k/5"}, "write /home/u/ws/k/1 write /home/u/ws/k/2 write /home/u/ws/k/3 write /home/u/ws/k/4 write /home/u/ws/k/5"},
		{"tool", "openat", sandbox.KindWrite, []string{"/home/u/tmp.AbCdEf12"}, "write /home/u/tmp.AbCdEf12"},
		{"tool", "O_EXCL", sandbox.KindWrite, []string{"/home/u/out/tmpazwmdokx"}, "write /home/u/out"},
		{"tool", "openat", sandbox.KindWrite, []string{"/home/u/out/tmpazwmdokx"}, "write /home/u/out/tmpazwmdokx"},
		{"tool > ~/out/new", "O_EXCL", sandbox.KindWrite, []string{"/home/u/out/new"}, "write /home/u/out/new"},
		{"tool", "O_EXCL", sandbox.KindWrite, []string{"/home/u/out/f.lock"}, "write /home/u/out/f write /home/u/out/f.lock"},
		{"tool", "O_EXCL", sandbox.KindWrite, []string{"/home/u/.tool"}, "write /home/u/.tool"},
		{"tool", "rmdir", sandbox.KindWrite, []string{"/home/u"}, ""},
		{"tool", "openat", sandbox.KindWrite, []string{"/etc", "/x", "/home/u/bin/codeagent"}, ""},
		{"tool", "restored", sandbox.KindProtected, []string{"/home/u/ws/bin/x"}, ""},
		{"cat", "open", sandbox.KindRead, []string{"/home/u/out/secret", "/home/u/out/other"}, "read /home/u/out/secret"},
		{"curl http://example.com:81/x", "lookup", sandbox.KindNetwork, []string{"example.com", "example.com:81"}, "network example.com:81"},
		{"tool", "lookup", sandbox.KindNetwork, []string{"example.com"}, "network example.com"},
		{"tool", "socket", sandbox.KindNetwork, []string{"socket"}, ""},
		{"tool", "connect", sandbox.KindSocket, []string{"/run/s"}, "socket /run/s"},
		{"tool", "connect", sandbox.KindSocket, []string{"@abstract"}, ""},
		{"tool", "bind", sandbox.KindWrite, []string{"/home/u/run/s"}, "write /home/u/run"},
		{"tool", "mount", sandbox.KindSyscall, []string{"mount"}, "outside the sandbox"},
	} {
		var denials []sandbox.Denial
		for _, target := range row.targets {
			denials = append(denials, sandbox.Denial{Kind: row.kind, Operation: row.operation, Target: target, Exclusive: row.operation == "O_EXCL"}, sandbox.Denial{Kind: sandbox.KindWrite, Target: "/home/u/out/moot", Moot: true})
		}
		g, _ := sandbox.Suggest(p, files, "/home/u", []string{"bash", "-c", row.text}, denials)
		if got := strings.Join(g.Lines(nil), " "); got != row.want {
			t.Errorf("%s, %v: suggests %q, want %q", row.text, row.targets, got, row.want)
		}
	}
	for _, never := range []sandbox.Denial{
		{Kind: sandbox.KindProtected, Target: "/home/u/ws/.git/config", Why: "it names a program"},
		{Kind: sandbox.KindNetwork, Operation: "sendto", Target: "192.0.2.1:123", Why: "a datagram"},
		{Kind: sandbox.KindNetwork, Operation: "bind", Target: "192.0.2.1:80", Why: "no connection"},
	} {
		if g, _ := sandbox.Suggest(p, files, "/home/u", []string{"git"}, []sandbox.Denial{never}); !g.Unsandboxed || len(g.Lines(nil)) != 1 {
			t.Errorf("%v: what no grant allows suggests %+v", never, g)
		}
		both := []sandbox.Denial{never, {Kind: sandbox.KindNetwork, Operation: "connect", Target: "192.0.2.1:80"}}
		if g, _ := sandbox.Suggest(p, files, "/home/u", []string{"git"}, both); never.Kind == sandbox.KindNetwork && strings.Join(g.Lines(nil), " ") != "network 192.0.2.1:80" {
			t.Errorf("%v: beside a connection suggests %+v", never, g)
		}
	}
}

// there is a file system with these entries and the folders around them.
type there []string

func (t there) Lstat(p string) (fs.FileMode, error) {
	for _, name := range t {
		if p == name && strings.HasSuffix(p, "link") {
			return fs.ModeSymlink, nil
		}
		if sandbox.Covers(p, name) {
			return fs.ModeDir, nil
		}
	}
	return 0, fs.ErrNotExist
}

func (there) Readlink(string) (string, error) { return "", fs.ErrInvalid }

// TestUnhelped: what no grant would help is not suggested, with the reason; a path whose folder is gone
// becomes the first entry that is missing.
func TestUnhelped(t *testing.T) {
	p := sandbox.WorkspaceWrite("/home/u/ws")
	p.DenyRead, p.DenyGlobs, p.Protected.Own = []string{"/home/u/out/secret"}, []string{"**/.env"}, []string{"/home/u/bin/codeagent"}
	p.Protected.Hidden = []string{"/home/u/records"}
	files := there{"/home/u/ws", "/home/u/out/d", "/home/u/out/secret", "/home/u/Makefile1", "/home/u/known.Ab12Cd", "/home/u/link", "/home/u/out/link"}
	for _, row := range []struct {
		kind               sandbox.DenialKind
		target, want, left string
	}{
		{sandbox.KindWrite, "/home/u/tmp.AbCdEf12", "", "looks generated"},
		{sandbox.KindWrite, "/home/u/named.AbCdEf12", "write /home/u/named.AbCdEf12", ""},
		{sandbox.KindWrite, "/home/u/known.Ab12Cd", "write /home/u/known.Ab12Cd", ""},
		{sandbox.KindWrite, "/home/u/Makefile", "write /home/u/Makefile", ""},
		{sandbox.KindWrite, "/home/u/out/d/tmp.AbCdEf12", "write /home/u/out/d", ""},
		{sandbox.KindWrite, "/home/u/out/tmp.AbCdEf12/a/b", "write /home/u/out", ""},
		{sandbox.KindWrite, "/home/u/tmp.AbCdEf12/a/b", "", "looks generated"},
		{sandbox.KindWrite, "/home/u/gone/a/b", "write /home/u/gone", ""},
		{sandbox.KindWrite, "/home/u/out/link", "write /home/u/out", ""},
		{sandbox.KindWrite, "/home/u/link", "", "a link"},
		{sandbox.KindProtected, "/home/u/ws/x", "", "refused for another reason"},
		{sandbox.KindWrite, "/home/u", "", "home folder"},
		{sandbox.KindWrite, "/x", "", "near the root"},
		{sandbox.KindWrite, "/home/u/bin/codeagent", "", "codeagent itself"},
		{sandbox.KindWrite, "/home/u/bin", "", "codeagent itself"},
		{sandbox.KindWrite, "/home/u/out/secret/x", "", "stays refused"},
		{sandbox.KindRead, "/home/u/ws/.env", "", "stays refused"},
		{sandbox.KindRead, "/home/u/records/x", "", "codeagent's own records"},
	} {
		g, left := sandbox.Suggest(p, files, "/home/u", []string{"tool", "named.AbCdEf12"}, []sandbox.Denial{{Kind: row.kind, Operation: "openat", Target: row.target}})
		if got := strings.Join(g.Lines(nil), " "); got != row.want || (row.left == "") != (len(left) == 0) || !strings.Contains(strings.Join(left, " "), row.left) {
			t.Errorf("%s: suggests %q, left %q", row.target, got, left)
		}
	}
}
