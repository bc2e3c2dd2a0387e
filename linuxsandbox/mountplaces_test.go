//go:build linux

package linuxsandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// TestPlaces runs TestPlacesInSetting and TestHiddenInSetting in every setting.
func TestPlaces(t *testing.T) { tests.InSettings(t, "^(TestPlacesInSetting|TestHiddenInSetting)$") }

// lodging is a workspace below /tmp, with a folder and a file of the host beside it.
type lodging struct {
	base, ws, beside, temp, foreign string
}

func newLodging(t *testing.T) lodging {
	t.Helper()
	base, err := os.MkdirTemp("/tmp", "codeagent-lodging")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { attack.RemoveAll(base); attack.RemoveAll(base + "-foreign") })
	l := lodging{base, base + "/a/b/ws", base + "/beside", t.TempDir(), base + "-foreign"}
	err = errors.Join(os.MkdirAll(l.ws, 0o755), os.MkdirAll(l.beside, 0o755), os.Mkdir(l.foreign, 0o755))
	for _, dir := range []string{l.ws, l.beside, l.foreign} {
		err = errors.Join(err, os.WriteFile(dir+"/file", []byte("kept\n"), 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestPlacesInSetting: a workspace below /tmp does not give the command the shared /tmp.
func TestPlacesInSetting(t *testing.T) {
	b, f := backendInSetting(t, "TestPlaces")
	if !f.Namespaces {
		t.Skip("no mount namespace here, so no private /tmp, which is a stated weakness")
	}
	for _, row := range placeRows {
		t.Run(row.name, func(t *testing.T) {
			l := newLodging(t)
			p := sandbox.WorkspaceWrite(l.ws)
			if row.strict {
				p = sandbox.Strict(l.ws, l.temp)
				p.Limits = sandbox.Limits{}
			}
			p.Temp = l.temp
			if row.denied {
				p.DenyRead = []string{l.beside, l.base + "/link", l.ws + "/link", l.base + "/absent"}
				err := errors.Join(os.Symlink("beside", l.base+"/link"), os.Symlink("file", l.ws+"/link"))
				if err != nil {
					t.Fatal(err)
				}
				toldOfLater(t, b, p)
			}
			cmd := sandbox.Command{
				Path: "bash", Args: []string{"bash", "-c", row.script}, Dir: l.ws,
				Env: []string{"PATH=/bin:/usr/bin", "BASE=" + l.base, "WS=" + l.ws, "BESIDE=" + l.beside, "FOREIGN=" + l.foreign},
			}
			for _, turn := range []string{"first", "second"} { // the second time the mount point exists
				if _, out := sandboxtest.Output(t, b, p, cmd); strings.TrimSpace(out) != row.says {
					t.Errorf("%s command: %q, want %q", turn, out, row.says)
				}
			}
			for _, dir := range []string{l.beside, l.foreign} {
				if text, err := os.ReadFile(dir + "/file"); err != nil || string(text) != "kept\n" {
					t.Errorf("%s: %q %v", dir, text, err)
				}
			}
			entries, err := os.ReadDir(l.base)
			if err != nil || len(entries) != 2 && !row.denied {
				t.Errorf("left behind on the host: %v %v", entries, err)
			}
			onlyPlaces(t, l)
		})
	}
}

// TestHiddenInSetting: a change is reported as refused even if the command cannot see its target.
func TestHiddenInSetting(t *testing.T) {
	b, f := backendInSetting(t, "TestPlaces")
	if !f.Namespaces {
		t.Skip("no mount namespace here, so the command can see its target")
	}
	for _, row := range []struct {
		script, file string
		kind         sandbox.DenialKind
	}{
		{`echo x > $FOREIGN/file`, "/file", sandbox.KindWrite},
		{`echo x > $FOREIGN/new`, "/new", sandbox.KindWrite},
		{`cd /tmp; echo x > ${FOREIGN##*/}/new`, "/new", sandbox.KindWrite},
		{`mkdir $FOREIGN/dir`, "/dir", sandbox.KindWrite},
		{`touch -c $FOREIGN/file`, "/file", sandbox.KindMetadata},
		{`touch -c $FOREIGN`, "", sandbox.KindMetadata},
		{`echo x > $FOREIGN/none/new; touch -c /tmp/none-such; cat $FOREIGN/file`, "", ""},
	} {
		t.Run(row.script, func(t *testing.T) {
			l := newLodging(t)
			p := sandbox.WorkspaceWrite(l.ws)
			p.Temp = l.temp
			proc, err := sandboxtest.Start(b, t.Context(), p, sandbox.Command{
				Path: "bash", Args: []string{"bash", "-c", row.script}, Dir: l.ws, Env: []string{"PATH=/bin:/usr/bin", "FOREIGN=" + l.foreign},
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := proc.Wait(); err != nil {
				t.Fatal(err)
			}
			told := proc.Trace().Denials
			if row.kind == "" && len(told) > 0 {
				t.Errorf("%+v", told)
			}
			if row.kind != "" && (len(told) != 1 || told[0].Kind != row.kind || told[0].Target != l.foreign+row.file) {
				t.Errorf("%+v, want one of %s", told, l.foreign+row.file)
			}
		})
	}
}

// toldOfLater: a denied path in /tmp that does not exist yet cannot be kept shut, and a weakness
// says so.
func toldOfLater(t *testing.T, b *Backend, p sandbox.Policy) {
	t.Helper()
	e, err := sandboxtest.Enforcement(b, p)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(e.Weaknesses, func(w sandbox.Weakness) bool { return w.ID == "deny-read-later" })
	if i < 0 || !strings.Contains(e.Weaknesses[i].What, "/absent") || strings.Contains(e.Weaknesses[i].What, "/link") {
		t.Errorf("%+v", e.Weaknesses)
	}
}

// onlyPlaces: the mounts leave only empty folders in the session's own folder.
func onlyPlaces(t *testing.T, l lodging) {
	t.Helper()
	entries, err := os.ReadDir(l.temp)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == "mine" {
			continue
		}
		below, err := os.ReadDir(filepath.Join(l.temp, e.Name()))
		if e.Name() != filepath.Base(l.base) || err != nil || len(below) > 0 {
			t.Errorf("%s is left in the session's folder: %v %v", e.Name(), below, err)
		}
	}
}

var placeRows = []struct {
	name, script, says string
	strict, denied     bool
}{
	{name: "the workspace", script: `echo changed > file; cat $WS/file; echo kept > file`, says: "changed"},
	{name: "a file in /tmp is the session's own", script: `echo x > /tmp/mine; cat /var/tmp/mine`, says: "x"},
	{name: "what the host has in /tmp is not seen", script: `ls /tmp | grep -cvx mine; cat $FOREIGN/file 2>&1 | grep -o 'No such file'`, says: "1\nNo such file"},
	{name: "a neighbour is seen and not written", script: `cat $BESIDE/file; { echo x > $BESIDE/file; } 2>/dev/null || echo refused`, says: "kept\nrefused"},
	{name: "a neighbour that is denied", denied: true, script: `for f in $BESIDE/file $BASE/link/file link file; do cat $f 2>/dev/null || echo refused; done`,
		says: "refused\nrefused\nrefused\nrefused"},
	{name: "strict: a neighbour", strict: true, script: `ls $BASE; test -e $BESIDE || echo none`, says: "a\nnone"},
	{name: "strict: the workspace", strict: true, script: `cat file; cat $WS/file`, says: "kept\nkept"},
	{name: "the way cannot be renamed", script: renames, says: "held\nheld\nheld\nkept"},
	{name: "strict: the way cannot be renamed", strict: true, script: renames, says: "held\nheld\nheld\nkept"},
}

const renames = `
for way in $BASE $BASE/a /var/tmp/${BASE##*/}; do mv $way $way-away 2>/dev/null && echo moved || echo held; done
cat $WS/file`
