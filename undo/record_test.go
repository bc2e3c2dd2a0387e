package undo

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzLog: whatever a log contains, reading it does not fail badly, and no plan leads outside
// what the policy allows or beyond what is stored.
func FuzzLog(f *testing.F) {
	head := `{"kind":"turn","version":1,"at":"2026-01-02T03:04:05Z","title":"t"}` + "\n"
	for _, s := range []string{
		"", head, head + "x", `{"kind":"turn","version":2}`,
		head + `{"kind":"before","path":"/a/b","state":{"k":"file","n":3,"kept":{"at":0}}}` + "\n" + `{"kind":"after","path":"/a/b","state":{"k":"absent"}}` + "\n",
		head + `{"kind":"before","path":"/a/../b","state":{"k":"absent"}}` + "\n",
		head + `{"kind":"before","bytes":"L/8=","state":{"k":"link","to":"/w=="}}` + "\n" + `{"kind":"mixed","bytes":"L/8="}` + "\n",
		head + `{"kind":"before","path":"/a","state":{"k":"file","n":9223372036854775807,"kept":{"f":1,"at":9223372036854775807}}}` + "\n",
		head + strings.Repeat("x", maxLine+10) + "\n" + `{"kind":"undone"}` + "\n",
	} {
		f.Add([]byte(s))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		k, err := readLog(bytes.NewReader(data), 1<<20)
		if err != nil {
			return
		}
		k.dir = dir
		for p, h := range k.paths {
			if !filepath.IsAbs(p) || filepath.Clean(p) != p || p == "/" {
				t.Errorf("a path %q", p)
			}
			for _, now := range []state{{Kind: absent}, {Kind: file, Size: 3}, {Kind: folder}, {Kind: link}, {Kind: special}} {
				j := judge{kept: k, history: h, now: now}
				if s := j.step(); s != nil && s.Do != Remove && s.Do != Mode && s.before.Kind == file {
					if data, err := k.content(s.before); err == nil {
						t.Errorf("a content of %d bytes from nowhere", len(data))
					}
				}
			}
		}
	})
}

// TestDamagedContent: a stored content is restored unchanged, or not at all.
func TestDamagedContent(t *testing.T) {
	for name, damage := range map[string]func(b *bench, dir string) error{
		"changed": func(b *bench, dir string) error {
			return os.WriteFile(filepath.Join(dir, storedName), []byte("dlo"), 0o600)
		},
		"short": func(b *bench, dir string) error { return os.Truncate(filepath.Join(dir, storedName), 1) },
		"gone":  func(b *bench, dir string) error { return os.Remove(filepath.Join(dir, storedName)) },
		"a link": func(b *bench, dir string) error {
			b.user("decoy", "old")
			if err := os.Remove(filepath.Join(dir, storedName)); err != nil {
				return err
			}
			return os.Symlink(b.at("decoy"), filepath.Join(dir, storedName))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.user("a", "old")
			b.turn(func() { b.write("a", "new") })
			b.must(damage(b, b.ses.folder(1)))
			r, err := b.ses.Apply(context.Background(), b.plan(), hands{})
			if err != nil || len(r.Done) != 0 || len(r.Failed) != 1 || !strings.Contains(r.Failed[0].Why, "damaged") {
				t.Errorf("done %v, failed %v, %v", r.Done, r.Failed, err)
			}
			if is := tree(t, b.ws)["a"]; is != "-rw-r--r-- new" {
				t.Errorf("it is %q", is)
			}
		})
	}
}
