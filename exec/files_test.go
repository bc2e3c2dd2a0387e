package exec_test

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"codeagent/exec"
	"codeagent/exec/worker"
	"codeagent/sandbox"
)

func TestFiles(t *testing.T) {
	r, dir := plain(t)
	f, err := r.Files(context.Background(), sandbox.FullAccess(), nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "sub/f")
	info, err := f.WriteFile(path, []byte("hello\nneedle\n"), 0o640, worker.Expect{Absent: true, Parents: true})
	if err != nil {
		t.Fatal(err)
	}
	data, again, err := f.ReadFile(path, 0, 0)
	if err != nil || string(data) != "hello\nneedle\n" || again != info {
		t.Errorf("read %q, %+v, %v", data, again, err)
	}
	if _, err := f.Stat(path + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat: %v", err)
	}
	var ferr *worker.Error
	if _, err := f.WriteFile(path, nil, 0, worker.Expect{Content: []byte("other")}); !errors.As(err, &ferr) || ferr.Kind != worker.Changed {
		t.Errorf("WriteFile: %v", err)
	}
	if g, err := f.Grep(context.Background(), []string{path}, "^n", worker.GrepLimits{}); err != nil || len(g.Matches) != 1 || g.Matches[0].Line != 2 {
		t.Errorf("Grep: %+v, %v", g, err)
	}
	if l, err := f.ReadDirs([]string{dir}, 0); err != nil || len(l) != 1 || len(l[0].Entries) == 0 {
		t.Errorf("ReadDirs: %+v, %v", l, err)
	}
	if err := errors.Join(f.Mkdir(filepath.Join(dir, "d"), 0, false), f.Remove(filepath.Join(dir, "d"), worker.Expect{})); err != nil {
		t.Error(err)
	}
	if err := errors.Join(f.Close(), f.Close()); err != nil {
		t.Error(err)
	}
	if _, err := f.Stat(dir); err == nil {
		t.Error("a closed worker answers")
	}
}

func TestFilesEndWithTheContext(t *testing.T) {
	r, dir := plain(t)
	ctx, cancel := context.WithCancel(context.Background())
	f, err := r.Files(ctx, sandbox.FullAccess(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Stat(dir); err != nil {
		t.Fatal(err)
	}
	cancel()
	for err == nil { // the kill is on its way; each answer proves the worker alive
		_, err = f.Stat(dir)
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

func TestFilesWithoutABackend(t *testing.T) {
	var start *sandbox.StartError
	if _, err := exec.New(exec.Options{}).Files(context.Background(), sandbox.ReadOnly(), nil); !errors.As(err, &start) {
		t.Errorf("error %v", err)
	}
}
