package session

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"codeagent/model"

	"github.com/google/go-cmp/cmp"
)

func writeFile(name string, data []byte) error { return os.WriteFile(name, data, 0o600) }

func listed(t testing.TB, s *Store) []Summary {
	t.Helper()
	var out []Summary
	for sum, err := range s.List() {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, sum)
	}
	return out
}

// used sets the time when a session was last used.
func used(t testing.TB, s *Store, id string, day int) {
	t.Helper()
	at := time.Date(2030, 1, day, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(s.file(id), at, at); err != nil {
		t.Fatal(err)
	}
}

func TestList(t *testing.T) {
	s := New(t.TempDir())
	at := time.Date(2029, 1, 1, 0, 0, 0, 0, time.UTC)
	s.now = func() time.Time { return at }
	ids := []string{"aaaa000000000001", "aaaa000000000002", "bbbb000000000003"}
	for i, id := range ids {
		ses := s.Create(Info{ID: id, Folder: fmt.Sprintf("/work/%d", i)})
		put(t, ses, user(fmt.Sprintf("  the first\n\nmessage of %d %s", i, strings.Repeat("long ", 100))))
		closed(t, ses)
		used(t, s, id, i+1)
	}
	// Files with other names are skipped.
	for _, name := range []string{"x.jsonl", "aaaa000000000001.jsonl.new"} {
		if err := writeFile(filepath.Join(s.dir, name), []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Rename(ids[0], "  a  title\nof mine "); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, sum := range listed(t, s) {
		name := []rune(sum.Name())
		got = append(got, fmt.Sprintf("%s %s %d %s %.30s", sum.ID, sum.Folder, sum.Used.UTC().Day(), sum.Created.Format(time.DateOnly), string(name)))
		if len(name) > maxFirst {
			t.Errorf("%d runes", len(name))
		}
	}
	want := []string{
		"bbbb000000000003 /work/2 3 2029-01-01 the first message of 2 long lo",
		"aaaa000000000002 /work/1 2 2029-01-01 the first message of 1 long lo",
		"aaaa000000000001 /work/0 1 2029-01-01 a title of mine",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	if sum, err := s.Find("bbbb"); err != nil || sum.ID != ids[2] {
		t.Errorf("%v %v", sum, err)
	}
	if _, err := s.Find("bbb"); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
	if _, err := s.Find("aaaa"); err == nil || !strings.Contains(err.Error(), "2 sessions begin with aaaa") {
		t.Errorf("%v", err)
	}
	if err := s.Delete(ids[2]); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Find("bbbb"); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
}

// TestDamaged: a file with a session's name that cannot be used is listed in its place with the
// reason, cannot be opened, never blocks, and can be deleted.
func TestDamaged(t *testing.T) {
	text := func(text string, mode os.FileMode) func(string) error {
		return func(name string) error { return errors.Join(writeFile(name, []byte(text)), os.Chmod(name, mode)) }
	}
	for what, row := range map[string]struct {
		make func(name string) error
		why  string
	}{
		"empty":       {text("", 0o600), "it is damaged"},
		"torn":        {text(`{"codeagent_session":1`, 0o600), "it is damaged"},
		"zeros":       {text(strings.Repeat("\x00", 100_000), 0o600), "it is damaged"},
		"later":       {text(`{"codeagent_session":99,"folder":"/work"}`+"\n", 0o600), "it was written by a newer codeagent"},
		"unreadable":  {text("x\n", 0), "it "},
		"a folder":    {func(name string) error { return os.Mkdir(name, 0o700) }, "it is a folder, not a regular file"},
		"a FIFO":      {func(name string) error { return syscall.Mkfifo(name, 0o600) }, "it is a FIFO, not a regular file"},
		"a dead link": {func(name string) error { return os.Symlink("nowhere", name) }, "it cannot be read"},
	} {
		t.Run(what, func(t *testing.T) {
			s := New(t.TempDir())
			const id = "cccc000000000004"
			if err := row.make(s.file(id)); err != nil {
				t.Fatal(err)
			}
			list := listed(t, s)
			if len(list) != 1 || list[0].ID != id || !strings.HasPrefix(list[0].Damaged, row.why) || !strings.Contains(list[0].Name(), row.why) {
				t.Errorf("listed %+v", list)
			}
			var damaged *DamagedError
			if _, err := s.Find(id[:4]); !errors.As(err, &damaged) || damaged.ID != id {
				t.Errorf("found: %v", err)
			}
			if _, err := s.Open(Info{ID: id}); err == nil {
				t.Error("it was opened")
			}
			if err := s.Delete(id); err != nil {
				t.Errorf("delete: %v", err)
			}
			if list := listed(t, s); len(list) != 0 {
				t.Errorf("after the deletion: %+v", list)
			}
		})
	}
}

// A title is kept through later turns, a fork and a turn that broke off, and can be removed.
func TestTitleStays(t *testing.T) {
	s, ses := begun(t, user("one"))
	closed(t, ses)
	if err := s.Rename(ses.ID(), "mine"); err != nil {
		t.Fatal(err)
	}
	again := opened(t, s, ses.ID())
	put(t, again, user("two"), answer(strings.Repeat("x", 2*near)))
	if err := again.EndTurn("done", model.Usage{}); err != nil {
		t.Fatal(err)
	}
	id, err := s.Fork(ses.ID(), 1)
	if err != nil {
		t.Fatal(err)
	}
	put(t, again, user("three"), answer(strings.Repeat("x", 2*near)))
	closed(t, again)
	closed(t, opened(t, s, ses.ID())) // records it again
	for _, sum := range listed(t, s) {
		if sum.Title != "mine" || sum.ID == id && sum.Origin != ses.ID() {
			t.Errorf("%+v", sum)
		}
	}
	if err := s.Rename(ses.ID(), ""); err != nil {
		t.Fatal(err)
	}
	if sum, err := s.Find(ses.ID()); err != nil || sum.Title != "" || sum.Name() != "one" {
		t.Errorf("%+v %v", sum, err)
	}
}

// large makes a session of about size bytes and returns its name.
func large(t testing.TB, s *Store, size int64) string {
	t.Helper()
	ses := s.Create(Info{ID: NewID(), Folder: "/work"})
	text := strings.Repeat("some words of an answer, and more of it; ", 50)
	for ses.view.end < size {
		put(t, ses, user("go on"), answer(text))
		if err := ses.record(record{Kind: kindTurn}); err != nil { // as EndTurn does, which also waits for the disk
			t.Fatal(err)
		}
	}
	closed(t, ses)
	return ses.ID()
}

// counting counts how much of a file was read.
type counting struct {
	io.ReaderAt
	n int64
}

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.n += int64(n)
	return n, err
}

// The amount read of a session does not grow with its length.
func TestOpeningReadsTheEndAlone(t *testing.T) {
	s := New(t.TempDir())
	f, v, err := s.read(large(t, s, 20<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := &counting{ReaderAt: f}
	v.f = c
	h, err := v.history(1 << 20)
	if err != nil || !h.Omitted {
		t.Fatal(err, h.Omitted)
	}
	if _, err := v.label(); err != nil {
		t.Fatal(err)
	}
	if c.n > 3<<20 {
		t.Errorf("%d bytes were read", c.n)
	}
}

// BenchmarkOpen resumes a session of 200 MB: the lock, the repair, the history. The limit is a
// second.
func BenchmarkOpen(b *testing.B) {
	s := New(b.TempDir())
	id := large(b, s, 200<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		ses := opened(b, s, id)
		if h := history(b, ses); len(h.Items) < 1000 {
			b.Fatal(len(h.Items))
		}
		closed(b, ses)
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)/(1<<20), "MB/op")
}

// BenchmarkList lists 5,000 sessions.
func BenchmarkList(b *testing.B) {
	s := New(b.TempDir())
	text := strings.Repeat("x", 40<<10)
	for range 5000 {
		ses := s.Create(Info{ID: NewID(), Folder: "/work"})
		put(b, ses, user("hello"), answer(text))
		if err := ses.record(record{Kind: kindTurn, Label: Label{Title: "t"}}); err != nil {
			b.Fatal(err)
		}
		ses.f.Close()
	}
	b.ResetTimer()
	for b.Loop() {
		if n := len(listed(b, s)); n != 5000 {
			b.Fatal(n)
		}
	}
}
