//go:build linux

package linuxsandbox

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// strictRow is one sentence about the preset for untrusted programs. What the preset refuses is
// first shown to work under a policy that writes beside the workspace and has the network.
type strictRow struct {
	name, script string
	refused      bool
	limit        sandbox.Limit
	notBy0       bool // the kernel exempts root, unless a control group counts
}

// Programs that reserve more than 64 MiB of address space do not start under strict: node, Go's own
// tools, Java. They need sandbox.limits.memory_mb.
var strictRows = []strictRow{
	{name: "a shell", script: "echo shown"},
	{name: "python", script: `exec python3 -c 'import json, sqlite3, ssl; print("shown")'`},
	{name: "perl", script: `exec perl -MPOSIX -e 'print "shown"'`},
	{name: "sqlite", script: `sqlite3 :memory: 'select "shown"'`},
	{name: "awk and sort", script: `printf 'x\nshown\n' | sort | awk 'NR==1'`},
	{name: "a compiler", script: `printf '#include <stdio.h>\nint main(void){puts("shown");return 0;}\n' > $TMPDIR/a.c && gcc -o $TMPDIR/a $TMPDIR/a.c && $TMPDIR/a`},
	{name: "git", script: `git --version >/dev/null && echo shown`},
	{name: "reads the workspace", script: "cat read-me"},
	{name: "reads system files", script: "cat /etc/passwd >/dev/null && echo shown"},
	{name: "writes the scratch folder", script: "echo shown > $TMPDIR/x && cat $TMPDIR/x"},

	{name: "reads the home folder", script: "cat $HOME/private", refused: true},
	{name: "lists the home folder", script: "ls $HOME >/dev/null && echo shown", refused: true},
	{name: "reads the home folder by a link", script: "ln -s $HOME/private $TMPDIR/l; cat $TMPDIR/l", refused: true},
	{name: "reads the home folder by /proc", script: "cat /proc/self/root$HOME/private", refused: true},
	{name: "writes the workspace", script: "echo x > made && echo shown", refused: true},
	{name: "removes from the workspace", script: "rm read-me && echo shown", refused: true},
	{name: "reaches a server on the loopback device", script: `exec python3 -c 'import os, socket; socket.create_connection(("127.0.0.1", int(os.environ["PORT"]))); print("shown")'`, refused: true},
	{name: "takes memory", script: `exec perl -e '$x = "a" x (96<<20); print "shown" if length $x'`, refused: true},
	{name: "makes processes", script: `exec perl -e 'for(1..80){my $p=fork; defined $p or last; exec "sleep","9" if !$p; push @p,$p} print "shown" if @p==80; kill 9,@p'`, refused: true, notBy0: true},
	{name: "takes time", script: `exec perl -e 'do{@t=times}while($t[0]+$t[1]<2); print "shown"'`, refused: true, limit: sandbox.LimitCPU},
}

func TestStrict(t *testing.T) {
	b := newBackend(t)
	defer b.Close()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws, home, scratch := filepath.Join(base, "ws"), filepath.Join(base, "home"), filepath.Join(base, "scratch")
	for _, dir := range []string{ws, home, scratch} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Addr().String())
	strict := sandbox.Strict(ws, scratch)
	open := sandbox.WorkspaceWrite(base)
	open.Network.Mode = sandbox.NetworkFull
	for _, row := range strictRows {
		t.Run(row.name, func(t *testing.T) {
			if row.limit == sandbox.LimitCPU && userIsEnough() {
				return // TestStrictAsUser covers it
			}
			if row.notBy0 && os.Getuid() == 0 && !b.groups.Open().Processes {
				return // TestStrictAsUser covers it; the weakness says why
			}
			try := func(p sandbox.Policy) (sandbox.Status, string) {
				for _, file := range []string{filepath.Join(ws, "read-me"), filepath.Join(home, "private")} {
					if err := os.WriteFile(file, []byte("shown"), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				os.Remove(filepath.Join(scratch, "l"))
				return sandboxtest.Output(t, b, p, sandbox.Command{
					Path: "bash", Args: []string{"bash", "-c", row.script}, Dir: ws,
					Env: []string{"PATH=/usr/bin:/bin", "HOME=" + home, "TMPDIR=" + scratch, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "PORT=" + port},
				})
			}
			if st, out := try(open); row.refused && !strings.Contains(out, "shown") {
				t.Fatalf("it does not work without the preset either: %+v\n%s", st, out)
			}
			st, out := try(strict)
			if strings.Contains(out, "shown") == row.refused || st.Limit != row.limit {
				t.Errorf("uid %d: %+v, refused should be %v, limit %q\n%s", os.Getuid(), st, row.refused, row.limit, out)
			}
		})
	}
}

func TestStrictAsUser(t *testing.T) { tests.AsUser(t, "^TestStrict$") }
