//go:build linux

package escapes

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// TestNamedInTemp runs TestNamedInTempInSetting in every setting.
func TestNamedInTemp(t *testing.T) { tests.InSettings(t, "^TestNamedInTempInSetting$") }

// namedRows are commands that name files of the host below /tmp. bare is what a command without the
// sandbox says, confined what one in it says.
var namedRows = []struct{ name, script, bare, confined string }{
	{"a file", `cat $E-log`, "host", "host"},
	{"a file, by a path in its folder", `cd /tmp; cat ${E##*/}-log`, "host", "host"},
	{"a folder", `cat $E-dir/sub/f; ls $E-dir`, "host\nsub", "host\nsub"},
	{"a script", `sh $E-script`, "ran", "ran"},
	{"a link", `cat $E-link`, "host", "host"},
	{"a link to a link by a relative path", `cat $E-link2`, "host", "host"},
	{"a link to a folder", `cat $E-linkdir/sub/f`, "host", "host"},
	{"a link away", `cat $E-away`, "beside", "beside"},
	{"a name that the session uses", `cat $E-own`, "host", "session"},
	{"a file that is not named", `cat ${E}_other 2>/dev/null || echo refused`, "host", "refused"},

	{"a closed file", `cat $E-closed 2>/dev/null || echo refused`, "key", "refused"},
	{"a link to a closed file", `cat $E-toclosed 2>/dev/null || echo refused`, "key", "refused"},
	{"a link to a closed file elsewhere", `cat $E-toshut 2>/dev/null || echo refused`, "key", "refused"},
	{"a folder with a closed file", `cat $E-partly/open 2>/dev/null || echo refused`, "key", "refused"},
	{"a match of a pattern in a folder", `cat $E-dir/sub/.key 2>/dev/null || echo refused; cat $E-dir/sub/f`, "key\nhost", "refused\nhost"},
	{"a match through a link", `cat $E-linkdir/sub/.key 2>/dev/null || echo refused`, "key", "refused"},
	{"a folder that matches", `cat $E-dir/.private/f 2>/dev/null || echo refused`, "key", "refused"},
	{"credentials", `cat ${E%/*}/krb5cc_${E##*/} 2>/dev/null || echo refused`, "key", "refused"},
	{"a socket", `test -S $E-socket && echo there || echo refused`, "there", "refused"},
	{"a pipe", `test -p $E-pipe && echo there || echo refused`, "there", "refused"},
	{"an agent's folder", `cat $E-agent/key 2>/dev/null || echo refused`, "key", "refused"},
	{"another user's file", `cat $E-other 2>/dev/null || echo refused`, "key", "refused"},

	{"write", `{ echo x >> $E-log; } 2>/dev/null; tail -n1 $E-log`, "x", "host"},
	{"remove", `rm -f $E-log $E-link 2>/dev/null; test -e $E-log && test -h $E-link && echo kept`, "", "kept"},
	{"replace", `echo x > new; mv new $E-log 2>/dev/null; cat $E-log`, "x", "host"},
	{"move away", `mv $E-dir $E-moved 2>/dev/null; ls $E-dir 2>/dev/null`, "", "sub"},
	{"write through a link", `{ echo x >> $E-link; } 2>/dev/null; tail -n1 $E-log`, "x", "host"},
	{"a mode", `chmod 777 $E-log 2>/dev/null; stat -c %a $E-log`, "777", "644"},
}

// TestNamedInTempInSetting: a command sees the host's files below /tmp that it names, and only reads them.
func TestNamedInTempInSetting(t *testing.T) {
	b, f := backendtest.InSetting(t, "TestNamedInTemp")
	if !f.Namespaces {
		t.Skip("no mount namespace here, so commands see the host's /tmp")
	}
	for _, row := range namedRows {
		t.Run(row.name, func(t *testing.T) {
			if row.name == "another user's file" && os.Getuid() != 0 {
				t.Skip("only root can make one")
			}
			cmd, _ := stageNamed(t)
			bare := exec.Command("bash", cmd.Args[1:]...)
			bare.Args, bare.Dir, bare.Env = append(cmd.Args[:1:1], "-c", row.script), cmd.Dir, cmd.Env
			if out, _ := bare.Output(); strings.TrimSpace(string(out)) != row.bare {
				t.Fatalf("without the sandbox: %q, want %q", out, row.bare)
			}
			cmd, p := stageNamed(t)
			cmd.Args = []string{"bash", "-c", row.script}
			if _, out := sandboxtest.Output(t, b, p, cmd); strings.TrimSpace(out) != row.confined {
				t.Errorf("%q, want %q", out, row.confined)
			}
			if list, err := os.ReadDir(p.Temp); err != nil || len(list) != 1 {
				t.Errorf("left in the session's folder: %v %v", list, err)
			}
		})
	}
}

// stageNamed makes files in /tmp whose names begin with $E, a workspace and a policy.
func stageNamed(t *testing.T) (sandbox.Command, sandbox.Policy) {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "ws")
	if err != nil {
		t.Fatal(err)
	}
	mark, err := os.MkdirTemp("/tmp", "codeagent-named")
	if err != nil {
		t.Fatal(err)
	}
	e, cache := mark, "/tmp/krb5cc_"+filepath.Base(mark)
	t.Cleanup(func() {
		list, _ := filepath.Glob(e + "*")
		for _, path := range append(list, cache) {
			attack.RemoveAll(path)
		}
	})
	p := sandbox.WorkspaceWrite(dir)
	p.Temp = t.TempDir()
	p.DenyRead = []string{e + "-closed", e + "-partly/closed", dir + "/shut"}
	file := func(path, text string) { err = errors.Join(err, os.WriteFile(path, []byte(text+"\n"), 0o644)) }
	p.DenyGlobs = []string{"/**/.key", "/**/.private"}
	for _, d := range []string{"-dir/sub", "-dir/.private", "-partly", "-agent"} {
		err = errors.Join(err, os.MkdirAll(e+d, 0o755))
	}
	for path, text := range map[string]string{
		e + "-log": "host", e + "-dir/sub/f": "host", e + "-dir/sub/.key": "key", e + "-dir/.private/f": "key", e + "-script": "echo ran", e + "-own": "host", e + "_other": "host", p.Temp + "/" + filepath.Base(e) + "-own": "session",
		e + "-closed": "key", e + "-partly/closed": "key", e + "-partly/open": "key", cache: "key", e + "-agent/key": "key", e + "-other": "key",
		dir + "/shut": "key", dir + "/beside": "beside",
	} {
		file(path, text)
	}
	for name, to := range map[string]string{
		"-link": e + "-log", "-link2": filepath.Base(e) + "-link", "-linkdir": e + "-dir", "-away": dir + "/beside", "-toclosed": e + "-closed", "-toshut": dir + "/shut",
	} {
		err = errors.Join(err, os.Symlink(to, e+name))
	}
	err = errors.Join(err, unix.Mkfifo(e+"-pipe", 0o644))
	if os.Getuid() == 0 {
		err = errors.Join(err, os.Chown(e+"-other", attack.StrangerUID, attack.StrangerUID), os.Chmod(e+"-other", 0o600))
	}
	for _, path := range []string{e + "-socket", e + "-agent/socket"} {
		l, failed := net.Listen("unix", path)
		if err = errors.Join(err, failed); failed == nil {
			t.Cleanup(func() { l.Close() })
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	named, _ := filepath.Glob(e + "-*")
	for _, inside := range []string{"-dir/sub/f", "-linkdir/sub/f", "-agent/key", "-partly/open"} {
		named = append(named, e+inside)
	}
	return sandbox.Command{Path: "bash", Args: []string{"bash"}, Dir: dir, Env: []string{"PATH=/bin:/usr/bin", "E=" + e}, Named: append(named, cache)}, p
}

// TestNamedSwap: an entry that changes between the look and the mount shows nothing else.
func TestNamedSwap(t *testing.T) {
	b := backendtest.New(t)
	defer b.Close()
	cmd, p := stageNamed(t)
	flip, other := cmd.Env[1][len("E="):]+"-log", cmd.Env[1][len("E="):]
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				for _, with := range []string{"-toclosed", "-pipe", "-dir", "-socket"} {
					for range 2 {
						_ = unix.Renameat2(unix.AT_FDCWD, flip, unix.AT_FDCWD, other+with, unix.RENAME_EXCHANGE)
					}
				}
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	script := `test -f $E-log && timeout 0.1 cat $E-log; test -p $E-log && echo pipe 2>/dev/null; true`
	bare := ""
	for range 1000 {
		plain := exec.Command("bash", "-c", script)
		plain.Env = cmd.Env
		out, _ := plain.Output()
		if bare += string(out); strings.Contains(bare, "key") && strings.Contains(bare, "pipe") {
			break
		}
	}
	if !strings.Contains(bare, "key") || !strings.Contains(bare, "pipe") {
		t.Fatal("the race was never won without the sandbox")
	}
	cmd.Args, cmd.Named = []string{"bash", "-c", script}, []string{flip}
	for range 30 {
		if _, out := sandboxtest.Output(t, b, p, cmd); strings.Contains(out, "key") || strings.Contains(out, "pipe") {
			t.Fatalf("%q", out)
		}
	}
}

// madeRows are commands that make the granted path $N directly in /tmp, and a test of what the host has of it
// afterwards.
var madeRows = []struct{ name, script, host string }{
	{"a folder", `mkdir $N && echo x > $N/f && chmod 750 $N`, `test -d $N && grep -q x $N/f && test $(stat -c %a $N) = 750`},
	{"a copy", `mkdir -p src/d && echo x > src/d/f && chmod 700 src/d && cp -a src/. $N/ && cp -a src $N/again`, `grep -q x $N/d/f && test -d $N/again`},
	{"a file", `test ! -e $N && echo x > $N`, `grep -q x $N`},
	{"a file, replaced", `echo y > $N && echo x > $N.new && mv $N.new $N`, `grep -q x $N && test ! -e $N.new`},
	{"no link", `ln -s none $N`, `test ! -h $N`},
	{"no link in a folder", `mkdir -p $N/cfg && echo '{}' > $N/cfg/tasks.json && ln -s cfg $N/.vscode`, `test ! -e $N`},
	{"no pipe", `mkdir $N && mkfifo $N/p`, `test ! -e $N`},
	{"no second name", `echo x > $N.keep && ln $N.keep $N`, `test $(stat -c %h $N) = 1 && grep -q x $N`},
	{"no second name in a folder", `mkdir $N && echo x > $N.keep && ln $N.keep $N/f`, `test $(stat -c %h $N/f) = 1`},
	{"no set-id bits", `echo x > $N && chmod 6755 $N`, `test -e $N && test ! -u $N && test ! -g $N`},
	{"not half of a folder", `mkdir $N && echo x > $N/a && echo x > $N/b && chmod 0 $N/b`, `test ! -e $N || test -e $N/b`},
	{"not too much", `mkdir $N && truncate -s 2G $N/large`, `test ! -e $N`},
	{"nothing", `test ! -e $N`, `test ! -e $N`},
	{"then removed", `mkdir $N && rmdir $N`, `test ! -e $N`},
	{"and fails", `mkdir $N; exit 3`, `test -d $N`},
	{"not what is beside it", `echo x > $N.beside`, `test ! -e $N.beside`},
	{"no protected name", `mkdir $N && echo 'echo evil' > $N/.envrc`, `test ! -e $N`},
	{"no hook", `mkdir -p $N/d/.git/hooks && echo evil > $N/d/.git/hooks/pre-commit`, `test ! -e $N`},
}

// TestMadeInTemp runs TestMadeInTempInSetting in every setting.
func TestMadeInTemp(t *testing.T) { tests.InSettings(t, "^TestMadeInTempInSetting$") }

// TestMadeInTempInSetting: what a command makes at a granted path directly in /tmp is the host's afterwards,
// if it is a file or a folder of these, without protected names.
func TestMadeInTempInSetting(t *testing.T) {
	b, f := backendtest.InSetting(t, "TestMadeInTemp")
	if !f.Namespaces {
		t.Skip("no mount namespace here, so commands see the host's /tmp")
	}
	for _, row := range madeRows {
		t.Run(row.name, func(t *testing.T) {
			cmd, p := stageNamed(t)
			p.Temp, _ = os.MkdirTemp("/tmp", "codeagent-own")
			defer attack.RemoveAll(p.Temp)
			name := strings.TrimPrefix(cmd.Env[slices.IndexFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, "E=") })], "E=") + "-made"
			cmd.Env = append(cmd.Env, "N="+name)
			cmd.Args = []string{"bash", "-c", row.script}
			sandboxtest.Output(t, b, p.With(sandbox.Grant{Write: []string{name}}), cmd)
			host := exec.Command("bash", "-c", row.host)
			host.Env = cmd.Env
			if out, err := host.CombinedOutput(); err != nil {
				t.Errorf("%v %s", err, out)
			}
		})
	}
}

// grantedRows are commands that may write the host's file $E-log, which holds "host", and what the host has of it afterwards.
var grantedRows = []struct{ name, script, host string }{
	{"append", `echo x >> $E-log`, "host\nx"},
	{"sed -i", `sed -i s/host/x/ $E-log && grep -qx x $E-log`, "x"},
	{"a file of /tmp", `echo x > /tmp/n && mv /tmp/n $E-log && test ! -e /tmp/n && grep -qx x $E-log`, "x"},
	{"a file of the workspace", `echo x > n && mv n $E-log && test ! -e n`, "x"},
	{"a shorter one, twice", `for x in longer x; do echo $x > /tmp/n && mv /tmp/n $E-log; done`, "x"},
	{"not by a second name", `echo x > /tmp/n && ln /tmp/n /tmp/m && mv /tmp/n $E-log && echo later >> /tmp/m`, "x"},
	{"not by an open file", `exec 3> /tmp/n && echo x >&3 && mv /tmp/n $E-log; echo later >&3`, "x"},
	{"no link", `ln -s /etc/passwd /tmp/n; mv -T /tmp/n $E-log; test -h $E-log`, "host"},
	{"no pipe", `mkfifo /tmp/n; mv -T /tmp/n $E-log; test -p $E-log`, "host"},
	{"no removal", `rm -f $E-log`, "host"},
	{"not what is beside it", `echo x > /tmp/n; mv /tmp/n $E-script; rm -f $E-script; cat $E-script > $E-log`, "echo ran"},
	{"not from a closed place", `mv $E-own $E-log; mv shut $E-log`, "session"},
}

// TestGrantedInTemp runs TestGrantedInTempInSetting in every setting.
func TestGrantedInTemp(t *testing.T) { tests.InSettings(t, "^TestGrantedInTempInSetting$") }

// TestGrantedInTempInSetting: a file of the host's /tmp that was granted can be replaced, before the start and by a yes
// while the command runs.
func TestGrantedInTempInSetting(t *testing.T) {
	b, f := backendtest.InSetting(t, "TestGrantedInTemp")
	if !f.Namespaces || !f.Broker {
		t.Skip("the broker makes these changes where commands do not see the host's /tmp")
	}
	for _, row := range grantedRows {
		for _, asked := range []bool{false, true} {
			cmd, p := stageNamed(t)
			log := strings.TrimPrefix(cmd.Env[1], "E=") + "-log"
			cmd.Args = []string{"bash", "-c", row.script}
			grant := sandbox.Grant{Write: []string{log}}
			var holder sandbox.Holder
			if asked {
				holder = &backendtest.Asker{Answer: func(_ context.Context, d sandbox.Denial) (sandbox.Grant, bool) { return grant, d.Target == log }}
			} else {
				p = p.With(grant)
			}
			proc, err := sandboxtest.Start(b, t.Context(), p, cmd, holder)
			if err != nil {
				t.Fatal(err)
			}
			if _, err = proc.Wait(); err != nil {
				t.Error(err)
			}
			if text, err := os.ReadFile(log); err != nil || strings.TrimSpace(string(text)) != row.host {
				t.Errorf("%s, asked %v: the host has %q (%v), want %q", row.name, asked, text, err, row.host)
			}
		}
	}
}
