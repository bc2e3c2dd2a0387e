package fileworker

import (
	"bytes"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
)

// noFileBeyond makes every write of this process beyond that many bytes fail, as on a full
// disk: what fits is written first.
func noFileBeyond(t *testing.T, most uint64) {
	t.Helper()
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	t.Cleanup(func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
			t.Error(err)
		}
		signal.Reset(syscall.SIGXFSZ)
	})
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: most, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
}

// TestFullDisk: a file written in place stays unchanged if there is no space for its longer
// content; if it was written in part, the error says so.
func TestFullDisk(t *testing.T) {
	path := filepath.Join(folder(t), "f")
	put(t, path, "what it was before", 0o600)
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	long := bytes.Repeat([]byte("longer "), 100)
	noFileBeyond(t, 50)
	wantKind(t, putInPlace(path, long, 0o600), Failed)
	want(t, path, string(old))
	noFileBeyond(t, 5)
	wantKind(t, putInPlace(path, long[:len(old)], 0o600), Torn)
}
