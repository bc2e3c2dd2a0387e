package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/sandbox"
)

// TestTempPath: where codeagent finds what commands see below /tmp. E is the beginning of names of the
// host, OWN the private folder.
func TestTempPath(t *testing.T) {
	e, err := os.MkdirTemp("/tmp", "codeagent-temp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(e); os.Remove(e + "-log"); os.Remove(e + "-closed") })
	base, own := filepath.Base(e), t.TempDir()
	for _, path := range []string{e + "-log", e + "-closed", e + "/f", own + "/" + base + "-mine", own + "/" + base + "-place"} {
		if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(own+"/"+base+"-place", 0); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		path, want string
		named      bool
		change     func(temp *Temp, p *sandbox.Policy)
	}{
		{path: "E-log", want: "E-log", named: true},
		{path: "E/f", want: "E/f", named: true},
		{path: "E-mine", want: "OWN-mine"},
		{path: "E-absent", want: "OWN-absent"},
		{path: "E-place", want: "OWN-place"}, // the host has none
		{path: "E-closed", want: "OWN-closed"},
		{path: "/tmp", want: "TEMP"},
		{path: "/var/tmp/x", want: "TEMP/x"},
		{path: "/etc/passwd", want: "/etc/passwd"},
		{path: "E/f", want: "E/f", change: func(temp *Temp, _ *sandbox.Policy) { temp.Folder = e + "/sub/ws" }},
		{path: "E-absent", want: "E-absent", change: func(_ *Temp, p *sandbox.Policy) { p.Write = append(p.Write, sandbox.Root{Path: e + "-absent"}) }},
		{path: "E-mine", want: "E-mine", change: func(temp *Temp, _ *sandbox.Policy) { temp.Private = false }},
		{path: "E-mine", want: "E-mine", change: func(_ *Temp, p *sandbox.Policy) { p.Unconfined = true }},
		{path: "E-mine", want: "E-mine", change: func(_ *Temp, p *sandbox.Policy) { p.SharedTemp = true }},
	} {
		p := sandbox.WorkspaceWrite("/srv/ws")
		p.Temp, p.DenyRead = own, []string{e + "-closed"}
		temp := Temp{Policy: func() sandbox.Policy { return p }, Private: true, Folder: "/srv/ws"}
		if row.change != nil {
			row.change(&temp, &p)
		}
		fill := strings.NewReplacer("E", e, "OWN", own+"/"+base, "TEMP", own)
		at, named := temp.Path(fill.Replace(row.path))
		if at != fill.Replace(row.want) || named != row.named {
			t.Errorf("%s: %s %v, want %s %v", row.path, at, named, row.want, row.named)
		}
	}
}
