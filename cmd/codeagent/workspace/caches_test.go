package workspace

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/config"
	"codeagent/exec"
	"codeagent/sandbox"
)

// replaced is a file system in which a command of another session has put a link to
// /etc in the place of a cache, after codeagent made the folder.
type replaced struct{ exec.OS }

func (r replaced) Lstat(path string) (fs.FileMode, error) {
	if strings.HasSuffix(path, "/go-build") {
		return fs.ModeSymlink, nil
	}
	return r.OS.Lstat(path)
}

func (r replaced) Readlink(path string) (string, error) {
	if strings.HasSuffix(path, "/go-build") {
		return "/etc", nil
	}
	return r.OS.Readlink(path)
}

// TestCacheIsNoLink: a link in the place of a cache makes nothing else writable.
func TestCacheIsNoLink(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws := &Workspace{Files: replaced{}, Folder: "/w", Paths: config.Paths{Temp: filepath.Join(dir, "tmp")}, Config: config.Config{Sandbox: config.Sandbox{Mode: config.WorkspaceWrite}}}
	p, err := ws.withCaches(sandbox.WorkspaceWrite("/w"))
	if err != nil {
		t.Fatal(err)
	}
	for _, root := range p.Write {
		if root.Path != "/w" && !sandbox.Covers(dir, root.Path) {
			t.Errorf("commands may write %s", root.Path)
		}
	}
	if got := p.Env.Set["GOCACHE"]; !sandbox.Covers(dir, got) {
		t.Errorf("GOCACHE is %s", got)
	}
}
