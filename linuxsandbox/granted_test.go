//go:build linux

package linuxsandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/sandbox"
)

// TestGrantedNames: a granted path may be created, replaced, moved and removed, whether it is a
// file, a folder or missing. Nothing beside it may.
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
		{"dir", "mv $OUT/dir/f $OUT/dir/g", "mv $OUT/f $OUT/dir/f"},
		{"f new", "ln $OUT/f $OUT/new", "ln $OUT/g $OUT/new"},
		{"../ws/guarded/new", "echo x >guarded/new && echo y >guarded/new && rm guarded/new", "touch guarded/news"},
	}
	base := attack.Stage(t, os.Getuid())
	for name, b := range map[string]*Backend{"namespaces": newBackend(t), "none": newPlainBackend(t)} {
		defer b.Close()
		for _, row := range rows {
			t.Run(name+"/"+row.script, func(t *testing.T) {
				dir, err := os.MkdirTemp(filepath.Join(base, "files"), "row")
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
				p.Protected.Paths = []string{filepath.Join(ws, "guarded")}
				for i, script := range []string{row.beside, row.script} {
					want := i == 1
					cmd := sandbox.Command{Path: "/bin/bash", Args: []string{"bash", "-c", script}, Dir: ws, Env: []string{"PATH=/usr/bin:/bin", "OUT=" + out}}
					if st, said := run(t, b, p.With(g), cmd); (st.Exit == 0) != want {
						t.Errorf("with %s: %q exits with %d, want success: %v\n%s", row.grants, script, st.Exit, want, said)
					}
				}
			})
		}
	}
}
