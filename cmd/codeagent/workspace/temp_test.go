package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codeagent/hostfile"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
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

// TestKeep: files of the private folder are copied to new files, and to no protected name.
func TestKeep(t *testing.T) {
	own, to, elsewhere := t.TempDir(), t.TempDir(), t.TempDir()
	write := func(path, text string) error { return os.WriteFile(path, []byte(text), 0o644) }
	err := errors.Join(write(own+"/report.html", "new"), write(own+"/there", "new"), write(own+"/.envrc", "new"), write(own+"/.hidden", "x"), write(own+"/guarded", "new"),
		write(own+"/planted", "new"), write(own+"/empty", ""), os.Mkdir(own+"/folder", 0o755), os.Symlink("report.html", own+"/link"), unix.Mkfifo(own+"/pipe", 0o644),
		write(to+"/there", "old"), os.Symlink(elsewhere+"/victim", to+"/planted"))
	if err != nil {
		t.Fatal(err)
	}
	p := sandbox.WorkspaceWrite(to)
	p.Temp, p.Protected.Paths = own, []string{to + "/guarded"}
	temp := Temp{Policy: func() sandbox.Policy { return p }, Private: true, Folder: to}
	kept, err := temp.Keep(hostfile.Ground{}, ".")
	if !slices.Equal(kept, []string{"report.html"}) || err == nil {
		t.Errorf("kept %q, %v", kept, err)
	}
	for _, words := range []string{"there: file exists", "guarded is protected", "planted"} {
		if !strings.Contains(err.Error(), words) {
			t.Errorf("%v, want %q", err, words)
		}
	}
	if text, err := os.ReadFile(to + "/there"); err != nil || string(text) != "old" {
		t.Errorf("replaced by %q, %v", text, err)
	}
	if list, err := os.ReadDir(elsewhere); err != nil || len(list) > 0 {
		t.Errorf("written through a link: %v %v", list, err)
	}
	away := t.TempDir()
	if err := errors.Join(write(own+"/mise.toml", "x"), write(own+"/later.html", "x")); err != nil {
		t.Fatal(err)
	}
	if kept, err := temp.Keep(hostfile.Ground{}, away); err == nil || slices.Contains(kept, "mise.toml") || !slices.Contains(kept, "later.html") {
		t.Errorf("in a folder outside the write roots: kept %q, %v", kept, err)
	}
	bare := t.TempDir()
	if err := errors.Join(os.Mkdir(bare+"/objects", 0o755), write(own+"/HEAD", "ref: refs/heads/x"), write(own+"/config", "[core]")); err != nil {
		t.Fatal(err)
	}
	if kept, err := temp.Keep(hostfile.Ground{}, bare); err == nil || len(kept) > 0 {
		t.Errorf("a git directory was made: %q, %v", kept, err)
	}
	if _, err := temp.Keep(hostfile.Ground{}.With(to), "planted"); err == nil {
		t.Error("a folder that a command may have made as a link")
	}
}
