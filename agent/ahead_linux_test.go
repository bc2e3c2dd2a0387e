package agent_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"codeagent/agent"
	"codeagent/approvals"
	"codeagent/event"
	codeexec "codeagent/exec"
	"codeagent/hooks"
	"codeagent/internal/scripted"
	"codeagent/linuxsandbox"
	"codeagent/patterns"
	"codeagent/sandbox"
	"codeagent/tools"
)

// foresight is a session whose calls run ahead.
type foresight struct {
	field
	memory *patterns.Memory
	// ran gets a value when a run ahead has ended.
	ran chan struct{}
}

// newForesight returns one that plays replies. They may wait for ran.
func newForesight(t testing.TB, replies func(f *foresight, workspace string) []scripted.Reply, more ...func(*agent.Config)) *foresight {
	t.Helper()
	drafts, err := os.MkdirTemp("/var/tmp", "drafts")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(drafts) })
	f := &foresight{memory: patterns.New("/w", func(s string) string { return s }, func() patterns.Book { return nil }), ran: make(chan struct{}, 1000)}
	script := func(outside string) []scripted.Reply { return replies(f, filepath.Dir(outside)+"/work") }
	f.field = newField(t, approvals.OnRequest, approvals.Answer{Decision: approvals.Once}, script, append([]func(*agent.Config){func(c *agent.Config) {
		c.Stage.Drafts = &tools.Drafts{Folder: drafts, Can: func() bool { return true }, Runner: func() (*codeexec.Runner, func(), error) {
			backend, err := linuxsandbox.New(linuxsandbox.Options{Helper: helper})
			over := func() { backend.Close(); f.ran <- struct{}{} }
			return codeexec.New(codeexec.Options{Backend: backend, Environ: os.Environ(), Files: codeexec.OS{}}), over, err
		}}
		c.Ahead = &agent.Ahead{Memory: f.memory, Writes: true, Skill: func(approvals.Action) string { return "" }}
	}}, more...)...)
	return f
}

// learned teaches the memory what follows an edit. It takes so long that a test ends only if no call waits in vain.
func (f *foresight) learned(tool, arguments string) {
	for range 9 {
		f.memory.Saw(patterns.StepOf(patterns.Ran{Tool: "apply_patch"}), "", patterns.Followed{Tool: tool, Arguments: arguments, Took: 1000 * time.Hour, Tools: 10_000 * time.Hour})
	}
}

func (f *foresight) use(t testing.TB) event.Ahead {
	t.Helper()
	if err := f.Turn(t.Context(), agent.Input{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	for _, e := range f.face.events {
		if over, ok := e.(event.TurnFinished); ok {
			return over.Ahead
		}
	}
	t.Fatal("the turn has not ended")
	return event.Ahead{}
}

func reply(id, name, arguments string) scripted.Reply {
	return scripted.Reply{Calls: []scripted.Call{{ID: id, Name: name, Arguments: arguments}}}
}

func edit(id, file string) scripted.Reply {
	return reply(id, "apply_patch", fmt.Sprintf(`{"patch":%q}`, "*** Begin Patch\n*** Add File: "+file+"\n+x\n*** End Patch"))
}

// beforehand has do run before the first event of r.
func beforehand(r scripted.Reply, do func()) scripted.Reply {
	var first sync.Once
	r.Before = func(string) { first.Do(do) }
	return r
}

// TestRunsAhead: what ran ahead of a call takes its place if the model makes this call and nothing has changed. Otherwise it
// is as if it had not run: the call runs, and the files are those of that run alone.
func TestRunsAhead(t *testing.T) {
	const command = `{"command":"cat in; mkdir -p made; head -c 9 /dev/urandom >made/once; echo x >>log"}`
	write := func(name string) func(ws string) {
		return func(ws string) { _ = os.WriteFile(ws+"/"+name, []byte("new"), 0o644) }
	}
	for _, c := range []struct {
		name      string
		predicted string // the arguments; "": command
		meanwhile func(ws string)
		change    func(*agent.Config)
		call      scripted.Reply // zero: the predicted one
		quiet     bool           // nothing runs ahead
		none      bool           // nothing runs at all
		hit       bool
	}{
		{name: "the same call", hit: true},
		{name: "the same call, spelled in another way", call: reply("c", "shell", strings.ReplaceAll(command, `":`, `": `)), hit: true},
		{name: "a file that it did not read", meanwhile: write("other"), hit: true},
		{name: "a file that it read", meanwhile: write("in")},
		{name: "an absent name", meanwhile: write("made")},
		{name: "another command", call: reply("c", "shell", `{"command":"cat in; echo x >>log"}`)},
		{name: "another time limit", call: reply("c", "shell", strings.Replace(command, "{", `{"timeout_ms":5000,`, 1))},
		{name: "another tool", call: reply("c", "read_file", `{"path":"in"}`), none: true},
		{name: "no call", call: scripted.Reply{Text: "done"}, none: true},
		{name: "a network", predicted: `{"command":"echo x >>log; exec 3<>/dev/tcp/192.0.2.1/9"}`},
		{name: "a question would come", predicted: `{"command":"echo x >>log","sandbox_permissions":"with_additional_permissions","additional_permissions":{"write":["/var/tmp"]},"justification":"it is needed there"}`, quiet: true},
		{name: "a job", predicted: `{"command":"echo x >>log","background":true}`, quiet: true, none: true},
		{name: "no such tool", predicted: `{"nothing":"of it"}`, quiet: true, none: true},
		{name: "only reads may run ahead", change: func(c *agent.Config) { c.Ahead.Writes = false }, quiet: true},
		{name: "a model that answers sooner", change: func(c *agent.Config) { c.Ahead.After = 1000 * time.Hour }, quiet: true},
		{name: "a hook", change: func(c *agent.Config) {
			c.Hooks = hooks.New(hooks.Options{Hooks: []hooks.Hook{{Event: hooks.BeforeTool, Command: "true"}}, Run: func(_ context.Context, _ hooks.Hook, _ sandbox.Policy, _ []byte) hooks.Exit { return hooks.Exit{} }})
		}, quiet: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			predicted := command
			if c.predicted != "" {
				predicted = c.predicted
			}
			more := []func(*agent.Config){}
			if c.change != nil {
				more = append(more, c.change)
			}
			f := newForesight(t, func(f *foresight, ws string) []scripted.Reply {
				second := c.call
				if len(second.Calls) == 0 && second.Text == "" {
					second = reply("c", "shell", predicted)
				}
				return []scripted.Reply{edit("e", "edited"), beforehand(second, func() {
					if c.quiet {
						return
					}
					<-f.ran
					if c.meanwhile != nil {
						c.meanwhile(ws)
					}
				}), {Text: "done"}}
			}, more...)
			for name, text := range map[string]string{"in": "in", "other": ""} {
				if err := os.WriteFile(f.workspace+"/"+name, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			f.learned("shell", predicted)
			time.Sleep(20 * time.Millisecond) // else what was made just now looks as if it changed during the run
			use := f.use(t)
			if want := map[bool]int{true: 1}[c.hit]; use.Hits != want || use.Misses != map[bool]int{false: 1}[c.hit || c.quiet] {
				t.Errorf("%+v", use)
			}
			log, _ := os.ReadFile(f.workspace + "/log")
			if ran := strings.Count(string(log), "x"); ran != map[bool]int{false: 1}[c.none] {
				t.Errorf("it ran %d times in the files: %q", ran, f.results()["c"])
			}
			if c.hit && (!exists(t, f.workspace+"/made/once") || !strings.Contains(f.results()["c"], "in")) {
				t.Errorf("what it did was not kept: %q", f.results()["c"])
			}
			if text := f.results()["c"]; strings.Contains(text, "preview") || strings.Contains(text, "draft") {
				t.Errorf("the model reads of it: %q", text)
			}
		})
	}
}

// BenchmarkRunsAhead measures what running ahead saves: with a model that repeats itself, with one of whose steps 70 in 100
// are of no pattern, and with one that leaves a habit in 70 of 100 cases.
func BenchmarkRunsAhead(b *testing.B) {
	const rounds = 12
	other := func(i int) scripted.Reply {
		return reply(fmt.Sprint("o", i), "shell", fmt.Sprintf(`{"command":"sleep 0.2; echo %d >>noise"}`, i))
	}
	test := func(i int) scripted.Reply {
		return reply(fmt.Sprint("t", i), "shell", `{"command":"ls f* | wc -l >count; sleep 0.5"}`)
	}
	random := rand.New(rand.NewPCG(3, 4))
	for name, round := range map[string]func(i int) []scripted.Reply{
		"repeats itself": func(i int) []scripted.Reply {
			return []scripted.Reply{edit(fmt.Sprint("e", i), fmt.Sprint("f", i)), test(i)}
		},
		"70 of 100 steps of no pattern": func(i int) []scripted.Reply {
			if i%10 < 7 {
				return []scripted.Reply{other(i), other(i + rounds)}
			}
			return []scripted.Reply{edit(fmt.Sprint("e", i), fmt.Sprint("f", i)), test(i)}
		},
		"leaves a habit 70 times in 100": func(i int) []scripted.Reply {
			if random.IntN(10) < 7 {
				return []scripted.Reply{edit(fmt.Sprint("e", i), fmt.Sprint("f", i)), other(i)}
			}
			return []scripted.Reply{edit(fmt.Sprint("e", i), fmt.Sprint("f", i)), test(i)}
		},
	} {
		b.Run(name, func(b *testing.B) {
			f := newForesight(b, func(_ *foresight, _ string) (out []scripted.Reply) {
				for i := range rounds {
					for _, r := range round(i) {
						r.Wait = 800 * time.Millisecond // the model thinks
						out = append(out, r)
					}
				}
				return append(out, scripted.Reply{Text: "done"})
			})
			if name != "repeats itself" {
				for range 9 {
					f.memory.Saw(patterns.StepOf(patterns.Ran{Tool: "apply_patch"}), "", patterns.Followed{Tool: "shell", Arguments: test(0).Calls[0].Arguments, Took: 550 * time.Millisecond, Tools: 600 * time.Millisecond})
				}
			}
			use := f.use(b)
			var all time.Duration
			for _, e := range f.face.events {
				if over, ok := e.(event.ToolFinished); ok {
					all += over.Duration
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(use.Hits), "hits")
			b.ReportMetric(float64(use.Misses), "misses")
			b.ReportMetric(float64((use.Hidden / time.Duration(max(1, use.Hits))).Milliseconds()), "saved-ms/hit")
			b.ReportMetric(float64(use.Hidden.Milliseconds()), "saved-ms")
			b.ReportMetric(float64(use.Wasted.Milliseconds()), "wasted-ms")
			b.ReportMetric(float64(all.Milliseconds()), "tools-ms")
		})
	}
}
