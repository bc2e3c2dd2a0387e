package experiment_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"codeagent/exec"
	"codeagent/internal/attack"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
)

// newDrafts is newPlace where there are drafts.
func newDrafts(t *testing.T) *place {
	t.Helper()
	p := newPlace(t, backendtest.New(t))
	if !p.drafts {
		t.Skip("no drafts here")
	}
	return p
}

// everything is all that can be seen of the place apart from codeagent's own folders.
func (p *place) everything() string {
	var b strings.Builder
	for _, name := range []string{"ws", "tmp", "out", "out2"} {
		attack.Describe(&b, filepath.Join(p.dir, name))
	}
	return b.String()
}

// TestNothingIsKept: what the runs change is in no file, and no draft is left.
func TestNothingIsKept(t *testing.T) {
	p := newDrafts(t)
	const text = `echo x > made; echo two > text; rm todo; mkdir -p $TMPDIR/mine; echo x > $TMPDIR/mine/f; echo more >> $OUT/old0 || exit 3
		rm $OUT/gone; mv $OUT/old1 $OUT/other; chmod 600 $OUT/sub; ln -s /etc $OUT/link; echo x > $(mktemp $OUT/t.XXXX)`
	p.reset(t)
	plain, err := p.runner.Run(t.Context(), p.policy, exec.Command{Argv: []string{"/bin/bash", "-c", text}, Dir: p.ws, Timeout: time.Minute}, nil)
	if err != nil {
		t.Fatal(err)
	}
	names := func() string {
		var out []string
		_ = filepath.WalkDir(p.dir, func(path string, _ os.DirEntry, _ error) error { out = append(out, path); return nil })
		return strings.Join(out, "\n")
	}
	once := strings.ReplaceAll(names(), filepath.Join(p.dir, "undo"), "")
	p.reset(t)
	o, v := p.sh(t, text)
	if o.Status != plain.Status || !v.Denied || v.Confidence != sandbox.Certain || !strings.Contains(v.Experiment, "folder") {
		t.Errorf("%+v: %+v", o.Status, v)
	}
	if now := names(); len(strings.Split(now, "\n")) < len(strings.Split(once, "\n")) || strings.Contains(now, "drafts/") || strings.Contains(now, "/out/other") || strings.Contains(now, "/out/t.") {
		t.Errorf("the runs left something:\n%s\n\nwithout them:\n%s", now, once)
	}
	if got := v.Suggest.Write; len(got) != 1 || got[0] != filepath.Join(p.dir, "out") {
		t.Errorf("suggested %v", got)
	}
	before := p.everything()
	if _, v := p.sh(t, `echo x > $OUT/x`); !v.Denied {
		t.Errorf("%+v", v)
	}
	if now := p.everything(); now != before {
		t.Errorf("a command that changes nothing itself left\n%s\nof\n%s", now, before)
	}
}

// TestVerdictSaysNothingOfClosedFiles: a hostile command ends by a bit of a file that it may not read, once in the run that
// is seen and once in those that are not. All must be the same, whatever the bit is.
func TestVerdictSaysNothingOfClosedFiles(t *testing.T) {
	p := newDrafts(t)
	secret, other := filepath.Join(p.dir, "out/secret"), filepath.Join(p.dir, "out2/key")
	open := map[int]bool{}
	for bit := range 2 { // what the runs would say otherwise
		p.reset(t)
		if err := os.WriteFile(secret, []byte{'0' + byte(bit)}, 0o600); err != nil {
			t.Fatal(err)
		}
		_, v := p.sh(t, `echo x > $OUT/new || exit 1; exit $(cat $OUT/secret)`)
		open[bit] = v.Denied
	}
	if open[0] == open[1] {
		t.Error("the attempt does not work where the file can be read")
	}
	p.policy.DenyRead = []string{secret}
	p.policy.Protected.Hidden = []string{filepath.Join(p.dir, "undo")}
	says := map[string]string{}
	for _, bit := range []string{"0", "1"} {
		p.reset(t)
		for _, path := range []string{secret, other, filepath.Join(p.dir, "out/sub/.env")} {
			if err := os.WriteFile(path, []byte(bit), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for name, text := range map[string]string{
			"exit by the bit": `echo x > $OUT/new || exit 1; exit $(cat $OUT/secret)`,
			"fail by the bit": `echo x > $OUT/new || exit 1; cat $OUT/secret && grep -q 1 $OUT/secret && exit 1; exit 0`,
			"name by the bit": `echo x > $OUT/new || exit 1; echo x > $OUT/$(cat $OUT/secret || echo none)`,
			"by a move":       `mv $OUT/secret $OUT/open || exit 1; exit $(cat $OUT/open)`,
			"by its folder":   `mv $OUT $OUT2/moved || exit 1; exit $(cat $OUT2/moved/secret)`,
			"by a link":       `ln $OUT/secret $OUT/open || exit 1; exit $(cat $OUT/open)`,
			"by a glob":       `echo x > $OUT/new || exit 1; exit $(cat $OUT/sub/.env)`,
			"by a new glob":   `mv $OUT/sub/plain $OUT/sub/b.env || exit 1; exit $(cat $OUT/sub/b.env)`,
			"by undo's store": `echo x > $OUT/new || exit 1; cat ` + filepath.Join(p.dir, "undo") + `/*/* && exit 1; exit 0`,
		} {
			p.policy.DenyGlobs = nil
			if strings.Contains(name, "glob") {
				p.policy.DenyGlobs = []string{"**/*.env"}
			}
			_, v := p.sh(t, text)
			was, known := says[name]
			now := v.Experiment + " " + strings.Join(v.Suggest.Write, " ")
			if says[name] = now; known && was != now {
				t.Errorf("%s: %q or %q", name, was, now)
			}
		}
	}
	for name := range says {
		if strings.Contains(says[name], "/0") || strings.Contains(says[name], "/1") {
			t.Errorf("%s: %q", name, says[name])
		}
	}
	// Where reading is limited, a folder outside the limits is not covered: a write root is readable.
	p.policy.DenyRead, p.policy.DenyGlobs, p.policy.Read = nil, nil, []sandbox.Root{{Path: "/usr"}, {Path: "/etc"}}
	p.reset(t)
	if _, v := p.sh(t, `echo x > $OUT2/new || exit 1; exit $(cat $OUT2/key)`); v.Experiment != "" {
		t.Errorf("tried %q, %v", v.Experiment, v.Suggest)
	}
}

// TestStaysProtected: a protected name stays refused where the folder around it is covered.
func TestStaysProtected(t *testing.T) {
	p := newDrafts(t)
	for text, denied := range map[string]bool{
		`git init -q $OUT/repo || exit 1; echo x > $OUT/x`:                          true,
		`echo x > $OUT/repo/.git/hooks/post-commit || exit 1`:                       false,
		`echo x > $OUT/repo/.git/hooks/post-commit; echo x > $OUT/repo/y || exit 1`: true,
	} {
		p.reset(t)
		if !strings.HasPrefix(text, "git") {
			for _, name := range []string{"objects", "refs", "hooks"} {
				if err := os.MkdirAll(filepath.Join(p.dir, "out/repo/.git", name), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(p.dir, "out/repo/.git/HEAD"), []byte("ref: refs/heads/main\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if _, v := p.sh(t, text); (v.Experiment != "") != denied {
			t.Errorf("%s: %q %v", text, v.Experiment, v.Suggest)
		}
	}
}

// TestOwnStaysShut: codeagent's own folder stays shut where the folder around it is covered, as a home is.
func TestOwnStaysShut(t *testing.T) {
	p := newDrafts(t)
	own := filepath.Join(p.dir, "out/own")
	p.policy.Protected.Own = append(p.policy.Protected.Own, own)
	p.policy.Protected.Hidden = append(p.policy.Protected.Hidden, filepath.Join(own, "hidden"))
	const try = `w=0; echo bad >> $OUT/own/state && w=1; mkdir $OUT/own/new && w=2; mv $OUT/own $OUT/moved && w=3; rm -r $OUT/own && w=4; chmod 777 $OUT/own && w=5; cat $OUT/own/hidden/* && w=6; `
	for text, experiment := range map[string]string{
		try + `[ $w = 0 ] && echo x > $OUT/x || exit 4`:     "with these writes it passes",
		`echo x > $OUT/x; ` + try + `[ $w != 0 ] || exit 5`: "", // more is refused, so the runs say nothing
	} {
		p.reset(t)
		if err := errors.Join(os.MkdirAll(filepath.Join(own, "hidden"), 0o755), os.WriteFile(filepath.Join(own, "state"), []byte("own\n"), 0o644), os.WriteFile(filepath.Join(own, "hidden/key"), []byte("key\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
		_, v := p.sh(t, text)
		if !strings.Contains(v.Experiment, experiment) || (experiment == "") != (v.Experiment == "") || experiment != "" && !slices.Equal(v.Suggest.Write, []string{filepath.Join(p.dir, "out/x")}) {
			t.Errorf("%s: %q %v", text, v.Experiment, v.Suggest.Write)
		}
		if data, err := os.ReadFile(filepath.Join(own, "state")); string(data) != "own\n" {
			t.Errorf("the state is %q, %v", data, err)
		}
	}
}

// TestNotRepeatable: where a further run would not be the same, or could not be held, the verdict is the one from before.
func TestNotRepeatable(t *testing.T) {
	p := newDrafts(t)
	for _, c := range []struct{ name, text string }{
		{"a mount is in the folder", `mkdir /experiment`},
		{"a network is wanted", `echo x > $OUT/x; python3 -c 'import socket; socket.create_connection(("192.0.2.1", 80), 1)'`},
		{"it takes too long", `sleep 4.2; echo x > $OUT/x`},
		{"a limit ended it", `echo x > $OUT/x; kill -9 $$`},
	} {
		p.reset(t)
		o, v := p.sh(t, c.text)
		if c.name == "a limit ended it" {
			continue
		}
		if !o.Failed() || v.Experiment != "" || v.Denied != o.Verdict.Denied {
			t.Errorf("%s: %q %+v", c.name, v.Experiment, v)
		}
	}
}

// TestStateBefore: the runs begin with what was there before the command, or nothing runs.
func TestStateBefore(t *testing.T) {
	p := newDrafts(t)
	for _, c := range []struct {
		name, text string
		tried      bool
	}{
		{"a folder that it made", `mkdir fresh && mkdir fresh/in || exit 9; echo x > $OUT/x || exit 4`, true},
		{"a file that it consumed", `test -f todo || exit 9; rm -r todo d; echo x > $OUT/x || exit 4`, true},
		{"a file that it changed", `grep -q one text || exit 9; sed -i s/one/two/ text; chmod 600 text; echo x > $OUT/x || exit 4`, true},
		{"a temporary folder", `mkdir $TMPDIR/t || exit 9; echo x > $TMPDIR/t/f; echo x > /tmp/g || exit 8; echo x > $OUT/x || exit 4`, true},
		{"a temporary file of an earlier command", `echo y >> $TMPDIR/earlier; echo x > $OUT/x || exit 4`, false},
	} {
		p.reset(t)
		if err := os.WriteFile(filepath.Join(p.policy.Temp, "earlier"), []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Millisecond)
		o, v := p.sh(t, c.text)
		if tried := v.Experiment != ""; o.Status.Exit != 4 || tried != c.tried || tried && (!v.Denied || v.Confidence != sandbox.Certain) {
			t.Errorf("%s: exit %d, %q %+v", c.name, o.Status.Exit, v.Experiment, v)
		}
	}
}

func TestAsUser(t *testing.T) {
	tests.AsUser(t, "^Test(NothingIsKept|VerdictSaysNothingOfClosedFiles|OwnStaysShut|NotRepeatable|StateBefore|WithoutNamespaces)$")
}

// TestBounds: a run that writes or takes much is ended, and shows nothing.
func TestBounds(t *testing.T) {
	p := newDrafts(t)
	p.lab.Patience = 0
	for name, text := range map[string]string{
		"much in a file": `echo x > $OUT/x || exit 3; head -c 300M /dev/zero > $OUT/large || exit 4`,
		"many files":     `echo x > $OUT/x || exit 3; for i in $(seq 40); do head -c 20M /dev/zero > $OUT/large$i; done; exit 0`,
		"its priority":   `echo x > $OUT/x || exit 3; [ $(nice) = 19 ] && sleep 60`,
		"long":           `echo x > $OUT/x || exit 3; sleep 60`,
	} {
		p.reset(t)
		began := time.Now()
		if _, v := p.sh(t, text); v.Experiment != "" || time.Since(began) > 12*time.Second {
			t.Errorf("%s: %q after %s", name, v.Experiment, time.Since(began))
		}
	}
}

// TestWithoutNamespaces: where there are no drafts, the verdict is that of today.
func TestWithoutNamespaces(t *testing.T) {
	p := newPlace(t, backendtest.NewPlain(t))
	o, v := p.sh(t, `echo x > $OUT/x`)
	if !o.Failed() || v.Experiment != "" || v.Denied != o.Verdict.Denied {
		t.Errorf("%+v", v)
	}
}
