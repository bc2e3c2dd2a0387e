//go:build linux

package changes

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/linuxsandbox/broker"
	"codeagent/sandbox"
	"codeagent/sandbox/protect/protecttest"
	"codeagent/sandbox/sandboxtest"
)

// TestKeptElsewhere runs the tests of reports besides the table of TestKept, for root and for a
// user without privileges.
func TestKeptElsewhere(t *testing.T) {
	tests.InSettings(t, "^(TestNotTold|TestToldOnce|TestObserverAtWork|TestNamesTurned|TestKeptFiles|TestKeptAtRandom)$")
}

// TestNotTold: what changes nothing in a write root is not reported.
func TestNotTold(t *testing.T) {
	b, f := backendtest.InSetting(t, "TestKeptElsewhere")
	if !f.Broker {
		t.Skip("no broker here: " + f.NoBroker)
	}
	ws, p := keptPlace(t, sandbox.WorkspaceWrite())
	furnishKept(t, ws, false)
	cache := filepath.Join(filepath.Dir(ws), ".cache", "tool")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	p.Write = append(p.Write, sandbox.Root{Path: cache})
	for _, script := range []string{
		`cat a l d/x; ls -lR; grep -r one a d`,
		`py '[os.utime(p, (1, 1)) for p in ("a", "d", ".")]; os.utime("l", (1, 1), follow_symlinks=False)'`,
		`echo x > "$TMPDIR/x"; mkdir "$TMPDIR/d"; mv "$TMPDIR/x" "$TMPDIR/d"; chmod 700 "$TMPDIR/d"; rm -r "$TMPDIR/d"`,
		`cd ` + cache + `; echo x > x; mv x y; mkdir d; rm -r y d`,
		`echo x > /dev/null; exec 3<>p; echo x >&3`,
		`mkdir -p d/sub`,
		`py 'os.open("a", os.O_RDONLY | os.O_CREAT)'`,
		`rmdir d || rm d || mv -T e d || mv -T a d || ln a b || mkdir a || mv missing a || true`,
		`mkdir a/x || ln -s y a/x || ln a a/x || mv a a/x || chmod 600 a/ || py 'os.open("a/x", os.O_WRONLY | os.O_CREAT | os.O_EXCL)' || true`,
		`chmod 600 missing || truncate -cs 1 missing || rm missing || true`,
		protecttest.In(`echo x > {shell} || mkdir {editor} || ln -s x {agent2} || mv d {agent} || true`),
		`echo x > /outside || chmod 777 / || mv a /usr || mv /usr/bin . || ln /usr/bin/env . || true`,
	} {
		album := newAlbum()
		if st, out := runKept(t, b, p, ws, "set +e; "+script, album); st.Signal != 0 || len(album.told) > 0 {
			t.Errorf("%s: %+v, told %q\n%s", script, st, album.told, out)
		}
	}
}

// TestToldOnce: a command reports a path once, and nothing below a reported one.
func TestToldOnce(t *testing.T) {
	b, f := backendtest.InSetting(t, "TestKeptElsewhere")
	if !f.Broker {
		t.Skip("no broker here: " + f.NoBroker)
	}
	for script, want := range map[string][]string{
		`echo x > a; echo y > a; chmod 600 a; rm a; mkdir a; echo x > a/x`: {"a"},
		`mkdir n; echo x > n/x; mkdir n/n; mv n/x n/n; rm -r n; mkdir n`:   {"n"},
		`chmod 700 d; chmod 750 d; echo x > d/x; mv d n; echo x > n/new`:   {"d/.", "d/x", "d", "n"},
		`ln -s n m; mv m l; rm l; echo x > l`:                              {"m", "l"},
		`chmod 700 .; chmod 755 .; echo x > l`:                             {"/.", "a"},
	} {
		ws, p := keptPlace(t, sandbox.WorkspaceWrite())
		furnishKept(t, ws, false)
		album := newAlbum()
		st, out := runKept(t, b, p, ws, script, album)
		var told []string
		for _, path := range album.told {
			told = append(told, strings.TrimPrefix(strings.TrimPrefix(path, ws), "/"))
		}
		if want[0] == "/." {
			want[0] = "."
		}
		if st.Exit != 0 || !slices.Equal(told, want) {
			t.Errorf("%s: %+v told %q, want %q\n%s", script, st, told, want, out)
		}
	}
}

// TestObserverAtWork: while a change observer works, nothing is changed yet, and no other command
// waits for it.
func TestObserverAtWork(t *testing.T) {
	b, f := backendtest.InSetting(t, "TestKeptElsewhere")
	if !f.Broker {
		t.Skip("no broker here: " + f.NoBroker)
	}
	ws, p := keptPlace(t, sandbox.WorkspaceWrite())
	furnishKept(t, ws, false)
	at, goOn := make(chan struct{}), make(chan struct{})
	slow := sandboxtest.Observer(func(dir int, name, _ string) {
		close(at)
		<-goOn
		if now, err := photoAt(dir, name); err != nil || now.data != "one\n" {
			t.Errorf("changed before it was kept: %+v %v", now, err)
		}
	})
	done := make(chan sandbox.Status)
	go func() {
		st, _ := runKept(t, b, p, ws, `echo x > a`, slow)
		done <- st
	}()
	<-at
	album := newAlbum()
	st, out := runKept(t, b, p, ws, `echo x > b; mv d n; mkdir d; ln n/x h; chmod 600 b; py 's = socket.socket(socket.AF_UNIX); s.bind("d/sock")'`, album)
	if st.Exit != 0 || len(album.told) == 0 {
		t.Errorf("beside it: %+v %q\n%s", st, album.told, out)
	}
	close(goOn)
	if st := <-done; st.Exit != 0 {
		t.Errorf("%+v", st)
	}
}

// TestNamesTurned: a name that leads elsewhere each time is reported again, but not for ever.
func TestNamesTurned(t *testing.T) {
	b, f := backendtest.InSetting(t, "TestKeptElsewhere")
	if !f.Broker {
		t.Skip("no broker here: " + f.NoBroker)
	}
	for turns, want := range map[int]bool{3: true, 2 * broker.MaxKeeps: false} {
		ws, p := keptPlace(t, sandbox.WorkspaceWrite())
		link := filepath.Join(p.Temp, "link")
		turn := func(to int) {
			_ = os.Remove(link)
			if err := os.Symlink(filepath.Join(ws, strconv.Itoa(to)), link); err != nil {
				t.Error(err)
			}
		}
		turn(0)
		told := 0
		st, out := runKept(t, b, p, ws, `echo x > "$TMPDIR/link"`, sandboxtest.Observer(func(_ int, _, path string) {
			if told++; told <= turns {
				turn(told)
			}
		}))
		entries, err := os.ReadDir(ws)
		if err != nil || (st.Exit == 0) != want || want && (len(entries) != 1 || entries[0].Name() != strconv.Itoa(turns)) || !want && len(entries) > 0 {
			t.Errorf("turned %d times: %+v, %q, %v\n%s", turns, st, entries, err, out)
		}
	}
}

// TestKeptFiles: granted single files, also where Landlock opens them and the broker sees no call,
// and granted names without a file.
func TestKeptFiles(t *testing.T) {
	b, f := backendtest.InSetting(t, "TestKeptElsewhere")
	if !f.Broker {
		t.Skip("no broker here: " + f.NoBroker)
	}
	// In /tmp, where the command has a folder of its own, Landlock opens a grant.
	for _, parent := range []string{"/tmp", os.Getenv(attack.EnvStage)} {
		for _, optional := range []bool{true, false} {
			out, err := os.MkdirTemp(parent, "kept-files")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { attack.RemoveAll(out) })
			ws, p := keptPlace(t, sandbox.WorkspaceWrite())
			file, absent := filepath.Join(out, "f"), filepath.Join(out, "new")
			if err := errors.Join(os.WriteFile(file, []byte("one\n"), 0o644), os.Mkdir(filepath.Join(out, "d"), 0o755)); err != nil {
				t.Fatal(err)
			}
			p.Write = append(p.Write, sandbox.Root{Path: file, Optional: optional}, sandbox.Root{Path: absent, Optional: true}, sandbox.Root{Path: filepath.Join(out, "d")})
			before, album := treeOf(t, out), newAlbum()
			st, said := runKept(t, b, p, ws, `echo x >> `+file+`; echo x > `+absent+`; chmod 600 `+file+`; echo x > `+out+`/d/x`, album)
			if st.Exit != 0 || len(differences(before, treeOf(t, out))) < 3 {
				t.Errorf("%s: %+v\n%s", out, st, said)
			}
			album.putBack(t)
			for _, d := range differences(before, treeOf(t, out)) {
				t.Error("not put back: " + d)
			}
		}
	}
}

// TestKeptGrants: what is granted to a running command is reported from then on.
func TestKeptGrants(t *testing.T) {
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		for _, job := range backendtest.OutsideJobs {
			attack.Need(t, strings.Fields(job.Needs)...)
			for _, folder := range []bool{true, false} {
				if !folder && job.Most == 0 {
					continue
				}
				work, out, _ := th.Furnish(t)
				before := treeOf(t, filepath.Dir(out))
				inside := treeOf(t, work)
				answer := func(_ context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
					if folder {
						return sandbox.Grant{Write: []string{out}}, true
					}
					return sandbox.Grant{Write: []string{d.Target}}, true
				}
				album := newAlbum()
				st, said, _ := th.Ask(t, &backendtest.Asker{Answer: answer}, sandbox.Command{
					Path: "bash", Args: []string{"bash", "-ec", job.Script}, Env: append(th.Env("", ""), "OUT="+out, "LC_ALL=C"), Observer: album,
				})
				if st.Exit != 0 {
					t.Errorf("%s: %+v %s", job.Name, st, said)
				}
				album.putBack(t)
				for _, d := range append(differences(before, treeOf(t, filepath.Dir(out))), differences(inside, treeOf(t, work))...) {
					t.Errorf("%s (%q): not put back: %s", job.Name, album.told, d)
				}
			}
		}
	})
}
