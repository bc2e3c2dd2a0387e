package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"codeagent/hostfile"
	"codeagent/patterns"
)

// TestMain is the side program where a test starts it.
func TestMain(m *testing.M) {
	if dir := os.Getenv("TEST_FOLD"); dir != "" {
		os.Exit(Main([]string{dir}))
	}
	os.Exit(m.Run())
}

// child is a run of the side program on dir.
func child(dir string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{"TEST_FOLD=" + dir}
	return cmd
}

// journal adds n observations of the project to the journal. Sessions do the same under the lock.
func journal(t testing.TB, dir, project string, from, n int, call string) {
	t.Helper()
	unlock, err := hostfile.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	var lines bytes.Buffer
	for i := range n {
		o := patterns.Observation{Key: patterns.Key{Project: project, Step: "edit"}, At: time.Now().Add(time.Duration(from+i) * time.Microsecond), Call: call}
		if err := json.NewEncoder(&lines).Encode(o); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.OpenFile(filepath.Join(dir, patterns.Journal), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.Write(lines.Bytes())
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// read returns the snapshot.
func read(t testing.TB, dir string) (patterns.Book, string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, patterns.SnapshotFile))
	if err != nil {
		t.Fatal(err)
	}
	book, notice, err := patterns.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return book, notice
}

// counted is how many observations of the project are known: the first of a pattern counts nothing.
func counted(book patterns.Book, project string) int {
	p, ok := book[patterns.Key{Project: project, Step: "edit"}]
	if !ok {
		return 0
	}
	return p.Seen + 1
}

func fold(t testing.TB, s Store) {
	t.Helper()
	if s.Begin == nil {
		s.Begin = func() {}
	}
	if err := s.Fold(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// TestKilled: a fold that is killed at any moment loses nothing and counts nothing twice.
func TestKilled(t *testing.T) {
	dir, want := t.TempDir(), 0
	begun := time.Now()
	journal(t, dir, "/p", 0, 1, "c")
	if out, err := child(dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	took, killed := time.Since(begun), 0
	want++
	for range 12 {
		n := 1 + rand.IntN(50)
		journal(t, dir, "/p", want, n, "c")
		want += n
		cmd := child(dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kill := time.AfterFunc(rand.N(took), func() { _ = cmd.Process.Kill() })
		if cmd.Wait() != nil {
			killed++
		}
		kill.Stop()
	}
	fold(t, Store{Dir: dir})
	fold(t, Store{Dir: dir}) // the journal after one that was taken
	book, notice := read(t, dir)
	if got := counted(book, "/p"); got != want || notice != "" {
		t.Errorf("%d observations of %d are known after %d kills; %q", got, want, killed, notice)
	}
	if killed == 0 {
		t.Error("none was killed")
	}
}

// TestMoments: the moments of a kill that change what the next fold finds, one by one.
func TestMoments(t *testing.T) {
	for name, kill := range map[string]func(taken string){
		"the journal was taken":                 func(taken string) { move(t, filepath.Join(filepath.Dir(taken), "..", patterns.Journal), taken) },
		"the transaction has ended":             func(string) {},
		"the transaction has ended, and a line": func(taken string) { journal(t, filepath.Join(filepath.Dir(taken), ".."), "/p", 100, 3, "c") },
	} {
		dir := t.TempDir()
		taken := filepath.Join(dir, "store", "taken.jsonl")
		journal(t, dir, "/q", 0, 1, "c")
		fold(t, Store{Dir: dir})
		journal(t, dir, "/p", 0, 7, "c")
		want := 7
		if !strings.HasPrefix(name, "the journal") {
			data, _ := os.ReadFile(filepath.Join(dir, patterns.Journal))
			fold(t, Store{Dir: dir})
			if err := os.WriteFile(taken, data, 0o600); err != nil { // as if it had not been removed
				t.Fatal(err)
			}
		}
		if kill(taken); strings.HasSuffix(name, "line") {
			want += 3
		}
		fold(t, Store{Dir: dir})
		fold(t, Store{Dir: dir})
		if book, _ := read(t, dir); counted(book, "/p") != want || counted(book, "/q") != 1 {
			t.Errorf("%s: %d of %d", name, counted(book, "/p"), want)
		}
	}
}

func move(t *testing.T, from, to string) {
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// TestTogether: sessions add and fold at the same time, and each line counts once.
func TestTogether(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	const sessions, rounds = 3, 2
	for i := range sessions {
		all.Go(func() {
			for r := range rounds {
				journal(t, dir, fmt.Sprint("/p", i), r*10, 10, "c")
				if out, err := child(dir).CombinedOutput(); err != nil {
					t.Errorf("%v: %s", err, out)
				}
			}
		})
	}
	all.Wait()
	book, _ := read(t, dir)
	for i := range sessions {
		if got := counted(book, fmt.Sprint("/p", i)); got != 10*rounds {
			t.Errorf("session %d: %d of %d", i, got, 10*rounds)
		}
	}
}

// TestDamaged: a database that cannot be read is set aside, and that is said once. What the journal has is not lost.
func TestDamaged(t *testing.T) {
	for name, damage := range map[string]func(file string) error{
		"no database":     func(file string) error { return os.WriteFile(file, bytes.Repeat([]byte("x"), 9000), 0o600) },
		"cut":             func(file string) error { return os.Truncate(file, 5000) },
		"a page":          func(file string) error { return overwrite(file, 4096, 4000) },
		"the schema":      func(file string) error { return overwrite(file, 100, 900) },
		"a folder":        func(file string) error { os.Remove(file); return os.Mkdir(file, 0o700) },
		"another version": func(file string) error { return overwrite(file, 60, 4) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for i := range 99 {
				journal(t, dir, fmt.Sprint("/earlier", i), 0, 3, strings.Repeat("c", 200))
			}
			fold(t, Store{Dir: dir})
			if err := damage(filepath.Join(dir, "store/db/patterns.db")); err != nil {
				t.Fatal(err)
			}
			journal(t, dir, "/p", 0, 6, "c")
			fold(t, Store{Dir: dir})
			book, notice := read(t, dir)
			aside, _ := filepath.Glob(filepath.Join(dir, "store/damaged-*"))
			if counted(book, "/p") != 6 || len(aside) != 1 || !strings.HasSuffix(notice, aside[0]) {
				t.Errorf("%d known, %q, %q", counted(book, "/p"), aside, notice)
			}
			fold(t, Store{Dir: dir})
			if book, notice := read(t, dir); notice != "" || counted(book, "/p") != 6 {
				t.Errorf("after it: %q, %d known", notice, counted(book, "/p"))
			}
			fold(t, Store{Dir: dir, Forget: "/p"})
			if aside, _ = filepath.Glob(filepath.Join(dir, "store/damaged-*")); len(aside) != 0 {
				t.Errorf("what was set aside has what is forgotten: %q", aside)
			}
		})
	}
}

func overwrite(file string, at int64, n int) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt(bytes.Repeat([]byte{0xa5}, n), at)
	return err
}

// TestForgotten: what is old or was cleared is in no file any more, and the snapshot is bounded.
func TestForgotten(t *testing.T) {
	dir := t.TempDir()
	old, err := json.Marshal(patterns.Observation{Key: patterns.Key{Project: "/p", Step: "old-step"}, At: time.Now().Add(-patterns.MaxAge - time.Hour), Call: "c"})
	if err != nil {
		t.Fatal(err)
	}
	cut := append(old, "\n{\"project\":\"/p\",\"st\n"...)
	if err := os.WriteFile(filepath.Join(dir, patterns.Journal), cut, 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 500 {
		journal(t, dir, fmt.Sprint("/many", i), 0, 1, strings.Repeat("c", 400))
	}
	journal(t, dir, "/cleared-project", 0, 6, "cleared-call")
	journal(t, dir, "/p", 0, 6, "c")
	fold(t, Store{Dir: dir})
	if book, _ := read(t, dir); counted(book, "/p") != 6 || counted(book, "/cleared-project") != 6 || len(book) < 50 {
		t.Errorf("%d known, %d in all", counted(book, "/p"), len(book))
	}
	fold(t, Store{Dir: dir, Forget: "/cleared-project"})
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, gone := range []string{"cleared", "old-step"} {
			if bytes.Contains(data, []byte(gone)) {
				t.Errorf("%s has %q", path, gone)
			}
		}
		if filepath.Base(path) == patterns.SnapshotFile && len(data) > patterns.MaxSnapshot {
			t.Errorf("the snapshot has %d bytes", len(data))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if book, _ := read(t, dir); counted(book, "/p") != 6 {
		t.Error("another project was forgotten")
	}
}
