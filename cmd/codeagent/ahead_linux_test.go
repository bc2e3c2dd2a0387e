package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"codeagent/internal/scripted"
)

// aheadUse is what a turn says of what ran ahead, and how long its calls took.
type aheadUse struct {
	Hits   int   `json:"hits"`
	Misses int   `json:"misses"`
	Hidden int64 `json:"hidden_ms"`
	Wasted int64 `json:"wasted_ms"`
	tools  int64
	wall   time.Duration
	said   string
}

// session runs a session of the built program whose model plays replies, each after it has thought.
func (u user) session(t testing.TB, think time.Duration, replies []scripted.Reply, args ...string) (use aheadUse) {
	t.Helper()
	for i := range replies {
		replies[i].Wait = think
	}
	srv, err := scripted.Start(context.Background(), scripted.Steps(append(replies, scripted.Reply{Text: "done"})...))
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	cmd := u.codeagent(append([]string{"exec", "--json", "--model", "test", "-c", "speculation.patterns=drafts"}, append(args, "go")...)...)
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL, "MY_TOKEN=sw0rdfish")
	begun := time.Now()
	r := run1(t, cmd)
	use.wall, use.said = time.Since(begun), r.stdout
	over := false
	for line := range strings.Lines(r.stdout) {
		var l struct {
			Type  string
			Ahead *aheadUse
			Item  struct {
				Duration int64 `json:"duration_ms"`
			}
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Type == "item.completed" {
			use.tools += l.Item.Duration
		}
		if over = over || l.Type == "turn.completed"; l.Ahead != nil {
			l.Ahead.tools, l.Ahead.wall, l.Ahead.said = use.tools, use.wall, use.said
			use = *l.Ahead
		}
	}
	if r.code != 0 || !over {
		t.Fatal(r)
	}
	return use
}

// edits is an answer that adds a file, runs one that runs a command.
func edits(file string) scripted.Reply {
	return call("apply_patch", `{"patch":%q}`, "*** Begin Patch\n*** Add File: "+file+"\n+x\n*** End Patch")
}

func runs(command string) scripted.Reply { return call("shell", `{"command":%q}`, command) }

// TestPatternsOfEarlierSessions: what a session learned, the next one in the same folder knows, and none elsewhere. No
// secret is in any file of it, and nothing once it was cleared.
func TestPatternsOfEarlierSessions(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		apart := filepath.Dir(u.home) + "/programs" // where no command may write, else nothing runs that lies there
		if err := os.Rename(u.bin, apart); err != nil {
			t.Fatal(err)
		}
		u.bin = apart
		kept := u.home + "/.local/state/codeagent/history/patterns"
		fold := func() { // waits for one that the session has started
			t.Helper()
			cmd := exec.Command(u.bin+"/codeagent-extra", "dev", "patterns", kept)
			if cmd.SysProcAttr = u.codeagent().SysProcAttr; u.uid < 0 {
				cmd.SysProcAttr = &syscall.SysProcAttr{}
			}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		rounds := func(name string, n int) (out []scripted.Reply) {
			for i := range n {
				out = append(out, edits(fmt.Sprint(name, i)), runs("ls | tee log"))
			}
			return out
		}
		// Tools of a session run before anything runs ahead.
		later := func(name string, n int) []scripted.Reply {
			return append([]scripted.Reply{runs("seq 200000 | sort -n | tail -1"), runs("seq 200001 | sort -n | tail -1")}, rounds(name, n)...)
		}
		known := func() string {
			t.Helper()
			r := run1(t, u.codeagent("patterns", "--json=true")) // not the lines of exec
			if r.code != 0 {
				t.Fatal(r)
			}
			return r.stdout
		}
		u.session(t, 0, rounds("ephemeral", 1), "--ephemeral")
		u.session(t, 0, rounds("off", 1), "-c", "speculation.patterns=off")
		if _, err := os.Lstat(kept); err == nil {
			t.Error("a session that keeps nothing has kept what it learned")
		}
		u.session(t, 0, append(rounds("first", 7), edits("a"), runs("echo sw0rdfish"), edits("b"), runs("PASSWORD=\"marlin77\" true"), runs("true")))
		eventually(t, "what the session learned is folded", func() bool { return known() != "" })
		if text := known(); !strings.Contains(text, `"runs_ahead":true`) {
			t.Errorf("known: %s", text)
		}
		// Five rounds are too few to learn it anew.
		if use := u.session(t, 300*time.Millisecond, later("second", 5)); use.Hits+use.Misses == 0 {
			t.Errorf("the next session knows nothing: %+v", use)
		}
		other := u.work + "/other"
		if err := errors.Join(os.Mkdir(other, 0o777), os.Chmod(other, 0o777)); err != nil {
			t.Fatal(err)
		}
		if use := u.session(t, 100*time.Millisecond, later("other", 3), "-C", other); use.Hits+use.Misses != 0 {
			t.Errorf("another folder knows it: %+v", use)
		}
		fold()
		holds := func(texts ...string) (found []string) {
			err := filepath.WalkDir(kept, func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				data, err := os.ReadFile(path)
				for _, text := range texts {
					if bytes.Contains(data, []byte(text)) {
						found = append(found, filepath.Base(path)+" has "+text)
					}
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
			return found
		}
		if found := holds("sw0rdfish", "marlin77"); len(found) > 0 || len(holds("ls | tee log")) == 0 {
			t.Errorf("%q", found)
		}
		if r := run1(t, u.codeagent("patterns", "clear")); r.code != 0 {
			t.Error(r)
		}
		if found := holds(`"` + u.work + `"`); len(found) > 0 || known() != "" {
			t.Errorf("after clear: %q, %s", found, known())
		}
		if r := run1(t, u.codeagent("patterns", "-C", other)); !strings.Contains(r.stdout, "ls | tee log") {
			t.Errorf("another folder was cleared, too: %v", r)
		}
		if err := os.WriteFile(kept+"/snapshot.json", []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		if use := u.session(t, 0, rounds("damaged", 2)); strings.Count(use.said, "what earlier sessions learned is ignored") != 1 {
			t.Errorf("it does not say once that it is damaged: %s", use.said)
		}
	})
}

// BenchmarkWorkAhead measures sessions of the built program whose model repeats itself, or deviates 70 times in 100: by steps
// of no pattern, by leaving a habit of this session, or one of an earlier session. The same session without work
// ahead says what was saved.
func BenchmarkWorkAhead(b *testing.B) {
	const think, n = 800 * time.Millisecond, 20
	test := func() scripted.Reply { return runs("ls f* | wc -l >count; sleep 0.5") }
	other := func(i int) scripted.Reply { return runs(fmt.Sprint("sleep 0.2; echo >>noise ", i)) }
	round := func(i int, leaves bool) []scripted.Reply {
		if leaves {
			return []scripted.Reply{edits(fmt.Sprint("f", i)), other(i)}
		}
		return []scripted.Reply{edits(fmt.Sprint("f", i)), test()}
	}
	for _, c := range []struct {
		name    string
		earlier bool
		round   func(i int, random *rand.Rand) []scripted.Reply
	}{
		{"repeats", false, func(i int, _ *rand.Rand) []scripted.Reply { return round(i, false) }},
		{"no pattern", false, func(i int, r *rand.Rand) []scripted.Reply {
			if i >= 6 && r.IntN(10) < 7 {
				return []scripted.Reply{other(i), other(i + n)}
			}
			return round(i, false)
		}},
		{"leaves", false, func(i int, r *rand.Rand) []scripted.Reply { return round(i, i >= 9 && r.IntN(10) < 9) }},
		{"leaves an earlier habit", true, func(i int, r *rand.Rand) []scripted.Reply { return round(i, r.IntN(10) < 7) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for seed := range uint64(b.N) {
				var saved time.Duration
				var use aheadUse
				for _, mode := range []string{"off", "drafts"} {
					u := benchUser(b)
					apart := filepath.Dir(u.home) + "/programs"
					if err := os.Rename(u.bin, apart); err != nil {
						b.Fatal(err)
					}
					u.bin = apart
					if c.earlier && mode != "off" {
						var habit []scripted.Reply
						for i := range 9 {
							habit = append(habit, round(100+i, false)...)
						}
						u.session(b, 0, habit)
						fold := exec.Command(u.bin+"/codeagent-extra", "dev", "patterns", u.home+"/.local/state/codeagent/history/patterns")
						if out, err := fold.CombinedOutput(); err != nil {
							b.Fatalf("%v: %s", err, out)
						}
					}
					random := rand.New(rand.NewPCG(3, seed))
					var replies []scripted.Reply
					for i := range n {
						replies = append(replies, c.round(i, random)...)
					}
					use = u.session(b, think, replies, "-c", "speculation.patterns="+mode)
					saved = use.wall - saved
				}
				b.Logf("seed %d: %d hits, %d misses, %d ms hidden, %d of %d ms wasted, %.0f %%; %v longer than without",
					seed, use.Hits, use.Misses, use.Hidden, use.Wasted, use.tools, 100*float64(use.Wasted)/float64(use.tools), saved.Round(time.Millisecond))
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
