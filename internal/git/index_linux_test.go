package git

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository returns a function that runs git in a new repository.
func repository(t *testing.T, format string) (dir string, git func(args ...string) string) {
	t.Helper()
	dir = t.TempDir()
	git = func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v %s", args, err, out)
		}
		return string(out)
	}
	git("init", "-q", "--object-format="+format)
	return dir, git
}

// TestCopy: git reads from a copy what it wrote, in each version and format, and the sum is right.
func TestCopy(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		for _, version := range []string{"2", "3", "4"} {
			for _, setting := range []string{"", "index.threads=4", "core.splitIndex=true", "core.untrackedCache=true", "index.skipHash=true"} {
				dir, git := repository(t, format)
				for i := range 40 {
					name := filepath.Join(dir, strings.Repeat("d/", i%5), fmt.Sprintf("file%d-%s", i, strings.Repeat("x", i*5)))
					if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(name, []byte(name), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				args := []string{}
				if setting != "" {
					args = []string{"-c", setting}
				}
				git(append(args, "add", ".")...)
				git(append(args, "update-index", "--index-version", version)...)
				if version == "3" {
					git(append(args, "add", "-N", "-f", ".")...)
				}
				want := git("ls-files", "-s")
				for _, path := range append([]string{filepath.Join(dir, ".git/index")}, shared(t, dir)...) {
					text, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					made, err := copyIndex(text)
					if err != nil {
						t.Fatalf("%s, version %s, %s: %v", format, version, setting, err)
					}
					if !bytes.Contains(text, []byte("IEOT")) && !bytes.Contains(text, []byte("EOIE")) && !bytes.Equal(made, text) {
						t.Errorf("%s, version %s, %s: %s differs", format, version, setting, path)
					}
					if err := os.WriteFile(path, made, 0o644); err != nil {
						t.Fatal(err)
					}
				}
				if got := git("ls-files", "-s"); got != want {
					t.Errorf("%s, version %s, %s: %s, want %s", format, version, setting, got, want)
				}
				git("fsck", "--no-progress")
			}
		}
	}
}

func shared(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, ".git/sharedindex.*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestPathsThatGitNeverAdds are refused wherever they stand, in each version.
func TestPathsThatGitNeverAdds(t *testing.T) {
	for _, version := range []string{"2", "4"} {
		dir, git := repository(t, "sha1")
		for _, name := range []string{"a", "x/.hit", "x/hooks", "zz", "..."} {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		git("add", ".")
		git("update-index", "--index-version", version)
		text, err := os.ReadFile(filepath.Join(dir, ".git/index"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := copyIndex(text); err != nil {
			t.Fatal(err)
		}
		for from, to := range map[string]string{".hit": ".git", "zz": "..", "x/.h": "//.h", "...": "./."} {
			evil := bytes.Replace(text, []byte(from), []byte(to), 1)
			if bytes.Equal(evil, text) {
				continue // compressed
			}
			if out, err := copyIndex(evil); err == nil {
				t.Errorf("version %s: %s is taken: %q", version, to, out)
			}
		}
		if _, err := copyIndex(text[:len(text)-5]); err == nil {
			t.Errorf("version %s: a cut index is taken", version)
		}
	}
}

// FuzzCopy: whatever is in it, a copy is one again, with the same entries.
func FuzzCopy(f *testing.F) {
	f.Add([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x00" + strings.Repeat("\x00", 20)))
	f.Fuzz(func(t *testing.T, text []byte) {
		made, err := copyIndex(text)
		if err != nil {
			return
		}
		if again, err := copyIndex(made); err != nil || !bytes.Equal(again, made) {
			t.Errorf("%q: %q, %v", made, again, err)
		}
	})
}
