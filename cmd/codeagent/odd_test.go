package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"codeagent/internal/machine"
	"codeagent/internal/scripted"
)

// oddEntries are the entries that can be in the place of codeagent's own files and folders.
var oddEntries = map[string]func(name string) error{
	"a FIFO":      func(name string) error { return syscall.Mkfifo(name, 0o600) },
	"a folder":    func(name string) error { return os.Mkdir(name, 0o700) },
	"a file":      func(name string) error { return os.WriteFile(name, []byte("\xff\x00{{{\n"), 0o600) },
	"a huge file": func(name string) error { return errors.Join(os.WriteFile(name, nil, 0o600), os.Truncate(name, 1<<40)) },
	"a dead link": func(name string) error { return os.Symlink("nowhere", name) },
	"a link to itself": func(name string) error {
		return os.Symlink(filepath.Base(name), name)
	},
	"unreadable":    func(name string) error { return errors.Join(os.WriteFile(name, nil, 0o600), os.Chmod(name, 0)) },
	"a shut folder": func(name string) error { return errors.Join(os.Mkdir(name, 0o700), os.Chmod(name, 0)) },
}

const oddSession = "0123456789abcdef"

// oddPlaces are codeagent's own paths, below CODEAGENT_HOME.
var oddPlaces = []string{
	"config.toml", "rules.toml", "AGENTS.md", "ledger.jsonl", "write-roots", "without.json",
	"sessions", "sessions/" + oddSession + ".jsonl", "sessions/" + oddSession + ".images", "sessions/x",
	"undo", "undo/" + oddSession, "undo/" + oddSession + "/lock", "undo/" + oddSession + "/1", "undo/" + oddSession + "/1/log.jsonl",
	"output", "output/output-1.txt", "tmp", "tmp/session-1", "tools",
}

// TestOddEntries: whatever is in the place of codeagent's own files, no start blocks on it or
// crashes: the error names it.
func TestOddEntries(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	model, err := scripted.Start(t.Context(), func(scripted.Request) scripted.Reply {
		if calls.Add(1)%2 == 0 {
			return scripted.Reply{Text: "done"}
		}
		return scripted.Reply{Calls: []scripted.Call{{Name: "shell", Arguments: `{"command":"echo x > made; seq 20000"}`}}}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	uid := -1
	if os.Getuid() == 0 {
		uid = ordinary // root may read everything
	}
	u := newUser(t, "odd", uid)
	n := 0
	// Each entry takes seconds, so outside CI three are tried.
	names := slices.Sorted(maps.Keys(oddEntries))
	for _, what := range machine.Pick(t, t.Name(), 3, len(names), names) {
		put := oddEntries[what]
		for _, place := range oddPlaces {
			n++
			own := filepath.Join(u.out, fmt.Sprint(n))
			name := filepath.Join(own, place)
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), put(name)); err != nil {
				t.Fatal(err)
			}
			if err := chownAll(own, uid); err != nil {
				t.Fatal(err)
			}
			calls.Store(0)
			for _, args := range [][]string{{"sessions", "--all"}, {"undo"}, {"exec", "hi"}} {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				cmd := u.codeagent(args...)
				timed := exec.CommandContext(ctx, cmd.Path, cmd.Args[1:]...)
				timed.Dir, timed.SysProcAttr = cmd.Dir, cmd.SysProcAttr
				timed.Env = append(cmd.Env, "CODEAGENT_HOME="+own, "OPENAI_BASE_URL="+model.URL, "OPENAI_API_KEY=k", "OPENAI_MODEL=any")
				r := run1(t, timed)
				if ctx.Err() != nil || !slices.Contains([]int{0, 1, 2, 125}, r.code) || strings.Contains(r.stderr, "panic") || strings.Contains(r.stderr, "goroutine ") {
					t.Errorf("%s at %s, %s: %v %v", what, place, args[0], ctx.Err(), r)
				}
				if r.code != 0 && r.stderr == "" {
					t.Errorf("%s at %s, %s: status %d without a word", what, place, args[0], r.code)
				}
				if testing.Verbose() {
					last := strings.Split(strings.TrimSpace(r.stderr), "\n")
					t.Logf("%s at %s, %s: %d %.200s", what, place, args[0], r.code, last[0])
				}
				cancel()
			}
		}
	}
}

// chownAll gives a tree to a user, including folders without permissions; -1 changes nothing.
func chownAll(root string, uid int) error {
	return filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, uid, uid))
	})
}
