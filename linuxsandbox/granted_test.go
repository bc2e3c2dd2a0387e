//go:build linux

package linuxsandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// TestGrantedNames: a granted path may be created, replaced, moved and removed, whether it is a
// file, a folder or missing, and read by a program whose reads the broker sees. Nothing beside it may.
func TestGrantedNames(t *testing.T) {
	rows := []struct{ grants, script, beside string }{
		{"new", "mkdir $OUT/new && echo x >$OUT/new/f && rm -r $OUT/new", "mkdir $OUT/newer"},
		{"new", "mkdir -p $OUT/new/a/b && touch $OUT/new/a/b/c", "touch $OUT/news"},
		{"new", "ln -s f $OUT/new && test -L $OUT/new", "ln -s f $OUT/other"},
		{"new", "echo x >$OUT/new && rm $OUT/new && mkdir $OUT/new", "rm $OUT/f"},
		{"f", "rm $OUT/f && echo y >$OUT/f", "rm $OUT/g"},
		{"f", "chmod 600 $OUT/f && echo y >>$OUT/f && truncate -s 0 $OUT/f", "chmod 600 $OUT/g"},
		{"f new", "mv $OUT/f $OUT/new && mv $OUT/new $OUT/f", "mv $OUT/g $OUT/f"},
		{"f f.lock", "echo y >$OUT/f.lock && mv $OUT/f.lock $OUT/f", "mv $OUT/f $OUT/f.old"},
		{"f", "echo y >f && mv f $OUT/f", "mv $OUT/g g"},
		{"f", "mv $OUT/f f", "mv $OUT/g f"},
		{"dir", "rm -r $OUT/dir", "rm $OUT/f"},
		{"dir", "touch $OUT/dir/h && rm $OUT/dir/* && rmdir $OUT/dir", "rmdir $OUT"},
		{"dir", "rm -r $OUT/dir && mkdir $OUT/dir && echo x >$OUT/dir/h && chmod 600 $OUT/dir/h && mkdir $OUT/dir/d && cat $OUT/dir/h", "mkdir $OUT/dirs"},
		{"dir new", "rm -r $OUT/dir && mkdir $OUT/new && touch $OUT/new/h && mv $OUT/new $OUT/dir && touch $OUT/dir/i && ls $OUT/dir/h", "mv $OUT/g $OUT/h"},
		{"dir", "rm -r $OUT/dir && mkdir $OUT/dir && ! touch $OUT/h && ! mkdir $OUT/dirs && ! rm $OUT/f", "rm $OUT/f"},
		{"dir", "rm -r $OUT/dir && ln -s . $OUT/dir && ! touch $OUT/dir/h && ! rm $OUT/dir/f", "ln -s . $OUT/dirs"},
		{"dir", "mv $OUT/dir/f $OUT/dir/g", "mv $OUT/f $OUT/dir/f"},
		{"f new", "ln $OUT/f $OUT/new", "ln $OUT/g $OUT/new"},
		{"f new", "echo y >f && mv f $OUT/f && grep y $OUT/f && echo z >$OUT/new && grep z $OUT/new", "mv $OUT/f $OUT/g"},
		{"new dir", "mkdir -p $OUT/new/d && echo x >$OUT/new/d/f && cd $OUT/new && ls d && cat d/f ../dir/f", "touch $OUT/newer"},
		{"new", `mkdir $OUT/new && echo x >$OUT/new/f && perl -e 'open(F, "<", "$ENV{OUT}/new/f") && chmod(0600, *F) && utime(1, 1, *F) or die $!'`, "chmod 600 $OUT/dir/f"},
		{"../ws/guarded/new", "echo x >guarded/new && echo y >guarded/new && rm guarded/new", "touch guarded/news"},
	}
	elsewhere, temp := filepath.Join(attack.Stage(t, os.Getuid()), "files"), t.TempDir()
	all, none := newBackend(t), newPlainBackend(t)
	defer all.Close()
	defer none.Close()
	for _, c := range []struct {
		name   string
		b      *Backend
		narrow bool   // reads little
		base   string // where all files lie
		temp   string // the temporary folder, in place of /tmp
	}{
		{"namespaces", all, false, elsewhere, ""}, {"none", none, false, elsewhere, ""},
		{"namespaces, narrow", all, true, elsewhere, ""}, {"none, narrow", none, true, elsewhere, ""},
		{"namespaces, below /tmp", all, false, t.TempDir(), temp}, {"none, below /tmp", none, false, t.TempDir(), temp},
	} {
		for _, row := range rows {
			t.Run(c.name+"/"+row.script, func(t *testing.T) {
				dir, err := os.MkdirTemp(c.base, "row")
				if err != nil {
					t.Fatal(err)
				}
				ws, out := filepath.Join(dir, "ws"), filepath.Join(dir, "out")
				for _, d := range []string{ws, out, filepath.Join(out, "dir"), filepath.Join(ws, "guarded")} {
					if err := os.Mkdir(d, 0o755); err != nil {
						t.Fatal(err)
					}
				}
				for _, f := range []string{"f", "g", "dir/f"} {
					if err := os.WriteFile(filepath.Join(out, f), []byte("x\n"), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				var g sandbox.Grant
				for grant := range strings.FieldsSeq(row.grants) {
					g.Write = append(g.Write, filepath.Join(out, grant))
				}
				p := sandbox.WorkspaceWrite(ws)
				p.Temp = c.temp
				p.Protected.Paths = []string{filepath.Join(ws, "guarded")}
				scripts := []string{row.beside, row.script}
				if c.narrow {
					p.Read = append(sandbox.Strict(ws, ws).Read, sandbox.Root{Path: filepath.Dir(os.Args[0])})
					scripts = []string{row.beside, "cat $OUT/[gh]", row.script}
				}
				for i, script := range scripts {
					want := i == len(scripts)-1
					cmd := sandbox.Command{Path: "/bin/bash", Args: []string{"bash", "-c", script}, Dir: ws, Env: []string{"PATH=/usr/bin:/bin", "OUT=" + out}, Reads: c.narrow}
					if st, said := sandboxtest.Output(t, c.b, p.With(g), cmd); (st.Exit == 0) != want {
						t.Errorf("with %s: %q exits with %d, want success: %v\n%s", row.grants, script, st.Exit, want, said)
					}
				}
			})
		}
	}
}
