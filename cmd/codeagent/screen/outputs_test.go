package screen

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Only files of the folder of outputs are read, whatever a session's file names.
func TestOnlyOutputsAreRead(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "output")
	for name, text := range map[string]string{"output/1": "all of it", "secret": "secret"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "secret"), filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	read := func(name string, most int) (string, int64, error) {
		data := make([]byte, most)
		n, size, err := outputFile(t.Context(), folder, name, data, 4)
		return string(data[:n]), size, err
	}
	if got, size, err := read(filepath.Join(folder, "1"), 6); err != nil || got != "of it" || size != 9 {
		t.Errorf("read %q: %v", got, err)
	}
	for _, name := range []string{filepath.Join(dir, "secret"), folder + "/../secret", folder, filepath.Join(folder, "link"), "1", ""} {
		if got, _, err := read(name, 100); err == nil {
			t.Errorf("%s is read: %q", name, got)
		}
	}
	if _, _, err := read(filepath.Join(folder, "2"), 6); err == nil || !strings.Contains(err.Error(), "removed") {
		t.Errorf("a file that is gone: %v", err)
	}
}
