package exec_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestConfinedRunNamesTemp: a command reads the host's files below /tmp that its text names, however it is
// written. @file is such a file, @name its last part, and @dir a folder.
func TestConfinedRunNamesTemp(t *testing.T) {
	r, p, ws, _ := confined(t)
	p.Temp = t.TempDir()
	e, err := r.Enforcement(p)
	if err != nil || !slices.Contains(e.Active(), "mountns") {
		t.Skip("commands see the host's /tmp here: ", err)
	}
	for _, row := range []struct{ script, says, denied string }{
		{"cat @file", "host", ""},
		{"cat '@file'", "host", ""},
		{`cat "@file"`, "host", ""},
		{"cat <@file", "host", ""},
		{"cd /tmp && cat @name", "host", ""},
		{"(cd /tmp; cat ./@name)", "host", ""},
		{"f=@file; cat $f", "host", ""},
		{"for f in @name; do cat /tmp/$f; done", "host", ""},
		{"unset TMPDIR; cat ${TMPDIR:-/tmp}/@name", "host", ""},
		{"cat ../../../../../../../../tmp/@name", "host", ""},
		{`perl -ne print @file`, "host", ""},
		{`perl -e 'open(F, "@file"); print <F>'`, "host", ""},
		{"bash -c 'cat @file'", "host", ""},
		{"cp @file copy && cat copy", "host", ""},
		{"cat @dir/sub/f; ls @dir", "host\nsub", ""},
		{"cd @dir && cat sub/f", "host", ""},
		// What the text makes anew is the session's own.
		{"echo mine >@file; cat @file", "mine", ""},
		{"cat >@file <<'X'\nmine\nX\nsh -c 'cat @file'", "mine", ""},
		{"echo mine >>@file || cat @file", "host", "@file"},
		{"echo mine >@dir/new || ls @dir", "sub", "@dir/new"},
		{"rm @file || cat @file", "host", "@file"},
		{"sed -i s/host/mine/ @file || cat @file", "host", "@file"},
	} {
		t.Run(row.script, func(t *testing.T) {
			dir, err := os.MkdirTemp("/tmp", "codeagent-names")
			if err != nil {
				t.Fatal(err)
			}
			file := dir + "-file"
			t.Cleanup(func() { os.RemoveAll(dir); os.Remove(file) })
			for _, name := range []string{file, dir + "/sub/f"} {
				_ = os.MkdirAll(filepath.Dir(name), 0o755)
				if err := os.WriteFile(name, []byte("host\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			fill := strings.NewReplacer("@file", file, "@name", filepath.Base(file), "@dir", dir)
			o, err := r.Run(context.Background(), p, sh(ws, "exec 2>/dev/null\n"+fill.Replace(row.script)), nil)
			if err != nil {
				t.Fatal(err)
			}
			if out := strings.TrimSpace(o.Output.Text()); out != fill.Replace(row.says) {
				t.Errorf("%q, want %q", out, fill.Replace(row.says))
			}
			denied := ""
			for _, d := range o.Trace.Denials {
				denied = d.Target
			}
			if denied != fill.Replace(row.denied) {
				t.Errorf("denied %q, want %q", denied, fill.Replace(row.denied))
			}
			if text, err := os.ReadFile(file); err != nil || string(text) != "host\n" {
				t.Errorf("the host's file: %q %v", text, err)
			}
		})
	}
}
