package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codeagent/hostfile"
	"codeagent/internal/git"
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

// TestKeep: what is in the private folder is copied to new names, and to no protected name.
func TestKeep(t *testing.T) {
	own, to, elsewhere := t.TempDir(), t.TempDir(), t.TempDir()
	write := func(path, text string) error {
		return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
	}
	err := errors.Join(write(own+"/report.html", "new"), write(own+"/there", "new"), write(own+"/.envrc", "new"), write(own+"/.hidden", "x"), write(own+"/guarded", "new"),
		write(own+"/planted", "new"), write(own+"/empty", ""), os.Mkdir(own+"/folder", 0o755), os.Symlink("report.html", own+"/link"), unix.Mkfifo(own+"/pipe", 0o644),
		write(to+"/there", "old"), os.Symlink(elsewhere+"/victim", to+"/planted"), write(own+"/old/f", "new"), write(to+"/old/mine", "old"),
		write(own+"/html/index.html", "new"), write(own+"/html/a/run.sh", "new"), os.Chmod(own+"/html/a/run.sh", 0o755), os.Symlink("/etc/passwd", own+"/html/away"), unix.Mkfifo(own+"/html/pipe", 0o644),
		write(own+"/html/a/.envrc", "x"), write(own+"/html/.vscode/tasks.json", "x"), write(own+"/html/sub/.git/hooks/pre-commit", "x"), os.Symlink(".vscode", own+"/html/to"),
		write(own+"/html/bare/HEAD", "ref: refs/heads/x"), write(own+"/html/bare/objects/x", "x"), write(own+"/html/bare/refs/x", "x"), write(own+"/html/bare/hooks/pre-push", "x"))
	if err != nil {
		t.Fatal(err)
	}
	p := sandbox.WorkspaceWrite(to)
	p.Temp, p.Protected.Paths = own, []string{to + "/guarded"}
	temp := Temp{Policy: func() sandbox.Policy { return p }, Private: true, Folder: to, Still: func(do func()) { do() }}
	keep := func(ground hostfile.Ground, folder string) (names []string, err error) {
		kept, err := temp.Keep(ground, folder)
		for _, l := range kept {
			names = append(names, l.Name)
		}
		return names, err
	}
	if left := fmt.Sprint(temp.Left()); left != "[guarded html/ (9 files, 29 bytes) old/ (1 file, 3 bytes) planted report.html there]" {
		t.Errorf("left: %s", left)
	}
	for i := range mostLooked {
		err = errors.Join(err, write(fmt.Sprintf("%s/many/%d", own, i), ""))
	}
	if left := fmt.Sprint(temp.Left()); err != nil || !strings.Contains(left, " many/ (more than 4095 files, 0 bytes) ") {
		t.Errorf("many files: %s, %v", left, err)
	}
	if err := os.RemoveAll(own + "/many"); err != nil {
		t.Fatal(err)
	}
	kept, err := keep(hostfile.Ground{}, ".")
	if !slices.Equal(kept, []string{"html", "report.html"}) || err == nil {
		t.Errorf("kept %q, %v", kept, err)
	}
	for _, words := range []string{"there: file exists", "old: file exists", "guarded is protected", "planted", "/tmp/html/away: symbolic link", "/tmp/html/pipe: a FIFO", "/tmp/html/to", "html/.vscode/tasks.json is protected", "html/sub/.git is protected"} {
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
	var copied []string
	_ = filepath.WalkDir(to+"/html", func(path string, e fs.DirEntry, err error) error {
		if info, _ := e.Info(); !e.IsDir() && !strings.HasPrefix(path, to+"/html/bare") {
			copied = append(copied, path[len(to+"/html/"):]+" "+info.Mode().String())
		}
		return err
	})
	if want := []string{"a/run.sh -rw-r--r--", "index.html -rw-r--r--"}; !slices.Equal(copied, want) {
		t.Errorf("in the folder: %q, want %q", copied, want)
	}
	if git.Marked(func(name string) bool { _, err := os.Lstat(to + "/html/bare/" + name); return err == nil }) {
		t.Error("a git directory was made in a folder")
	}
	away := t.TempDir()
	if err := errors.Join(write(own+"/mise.toml", "x"), write(own+"/later.html", "x")); err != nil {
		t.Fatal(err)
	}
	if kept, err := keep(hostfile.Ground{}, away); err == nil || slices.Contains(kept, "mise.toml") || !slices.Contains(kept, "later.html") {
		t.Errorf("in a folder outside the write roots: kept %q, %v", kept, err)
	}
	for _, way := range []struct{ there, made []string }{{[]string{"objects/x"}, []string{"HEAD", "config"}}, {nil, []string{"HEAD", "config", "objects/x"}}} {
		bare := t.TempDir()
		for _, name := range way.there {
			err = errors.Join(write(bare+"/"+name, "x"))
		}
		for _, name := range way.made {
			err = errors.Join(err, write(own+"/"+name, "x"))
		}
		if err != nil {
			t.Fatal(err)
		}
		if kept, err := keep(hostfile.Ground{}, bare); err == nil || len(kept) > 0 {
			t.Errorf("a git directory was made: %q, %v", kept, err)
		}
	}
	if _, err := keep(hostfile.Ground{}.With(to), "planted"); err == nil {
		t.Error("a folder that a command may have made as a link")
	}
}
