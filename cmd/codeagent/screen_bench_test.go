package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"codeagent/internal/golden"
	"codeagent/internal/scripted"
)

// What the screen of the built program costs on a pseudo terminal of 120 columns and 40 rows, with
// the real sandbox and a scripted model. These are figures to read, not limits to fail on.

const tokens = 1000

// bombs are commands that take what they can get, by the message that makes the model call one: 511 processes that all
// compute, and more memory than there is.
var bombs = map[string]string{
	"forks":  "bomb() { if [ $1 -gt 0 ]; then bomb $(($1-1)) & bomb $(($1-1)) & fi; while :; do :; done; }; bomb 8",
	"memory": "while :; do head -c 4000000000 /dev/zero | tail -c 3999999999 >/dev/null; done",
}

// benchScreen returns what starts the program. Its model answers with 1,000 tokens at 500 a second.
func benchScreen(b *testing.B, flags ...string) func() *golden.Terminal {
	u := benchUser(b)
	word := "token **bold** "
	steps := 0
	srv, err := scripted.Start(context.Background(), func(r scripted.Request) scripted.Reply {
		if bomb := bombs[r.FirstUser()]; bomb != "" {
			arguments, _ := json.Marshal(map[string]string{"command": bomb})
			return scripted.Reply{Calls: []scripted.Call{{ID: "bomb", Name: "shell", Arguments: string(arguments)}}}
		}
		if strings.Contains(r.FirstUser(), "ahead") { // an edit, then a command that takes all of a processor
			steps++
			call := scripted.Call{ID: fmt.Sprint("c", steps), Name: "shell", Arguments: `{"command":"i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo $i >out"}`}
			if steps%2 == 1 {
				call.Name, call.Arguments = "apply_patch", fmt.Sprintf(`{"patch":"*** Begin Patch\n*** Add File: edited-%d\n+x\n*** End Patch"}`, steps)
			}
			return scripted.Reply{Wait: 700 * time.Millisecond, Calls: []scripted.Call{call}}
		}
		return scripted.Reply{Text: strings.Repeat(word, tokens*4/len(word)) + "told-all", TokensPerSecond: 500}
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(srv.Close)
	return func() *golden.Terminal {
		cmd := u.codeagent(append([]string{"--model", "test", "--ephemeral", "-c", "speculation.patterns=drafts"}, flags...)...)
		cmd.Env = append(cmd.Env, "PATH="+os.Getenv("PATH"), "XDG_RUNTIME_DIR="+os.Getenv("XDG_RUNTIME_DIR"), "CONTAINERS_CONF="+os.Getenv("CONTAINERS_CONF"),
			"OPENAI_BASE_URL="+srv.URL, "TERM=xterm-256color", "COLORTERM=truecolor")
		return golden.Start(b, cmd, 120, 40)
	}
}

// BenchmarkScreenFirstPaint is the time from the start of the process to the composer.
func BenchmarkScreenFirstPaint(b *testing.B) {
	start := benchScreen(b)
	least := time.Hour
	for b.Loop() {
		began := time.Now()
		term := start()
		term.WaitFor("Ask codeagent")
		least = min(least, time.Since(began))
		b.StopTimer()
		term.Kill()
		b.StartTimer()
	}
	b.ReportMetric(float64(least.Microseconds())/1000, "least-ms")
}

// BenchmarkScreenEcho is the time from a key to its letter, with random gaps between keys.
func BenchmarkScreenEcho(b *testing.B) {
	for _, mode := range []string{"idle", "streaming", "ahead"} {
		b.Run(mode, func(b *testing.B) { echo(b, benchScreen(b)(), mode) })
	}
}

func echo(b *testing.B, term *golden.Terminal, mode string) {
	term.WaitFor("Ask codeagent")
	if mode == "ahead" { // what runs ahead takes a processor, once it is learned
		term.Write("ahead\r")
		term.WaitFor("edited-19")
	}
	if bombs[mode] != "" {
		term.Write(mode + "\r")
		term.WaitFor("Working")
		time.Sleep(3 * time.Second)
	}
	r := rand.New(rand.NewSource(1))
	var took []time.Duration
	typed := ""
	for b.Loop() {
		b.StopTimer()
		if mode == "streaming" && !strings.Contains(term.Screen(), "Working") {
			typed = "" // the answer has ended, and the next one begins
			term.Write("\x15stream\r")
			term.WaitFor("Working")
		}
		time.Sleep(time.Duration(20+r.Intn(180)) * time.Millisecond)
		if len(typed) == 60 {
			term.Write("\x15")
			term.WaitGone("› " + typed)
			typed = ""
		}
		c := string(rune('a' + len(typed)%26))
		typed += c
		b.StartTimer()
		start := time.Now()
		term.Write(c)
		term.WaitFor("› " + typed)
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "most-ms")
	term.Kill()
}

// BenchmarkScreenTokens is what 1,000 streamed tokens cost.
func BenchmarkScreenTokens(b *testing.B) {
	var cpu time.Duration
	written := 0
	start := benchScreen(b)
	for b.Loop() {
		term := start()
		term.WaitFor("Ask codeagent")
		before, used := term.Written(), term.CPU()
		term.Write("stream\r")
		term.WaitFor("told-all")
		term.WaitGone("Working")
		cpu += term.CPU() - used
		written += term.Written() - before
		term.Kill()
	}
	b.ReportMetric(float64(cpu.Milliseconds())/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(written)/1000/float64(b.N), "KB/op")
}

// BenchmarkScreenIdle is ten seconds of nothing.
func BenchmarkScreenIdle(b *testing.B) {
	start := benchScreen(b)
	for b.Loop() {
		term := start()
		term.WaitFor("Ask codeagent")
		time.Sleep(2 * time.Second)
		before, used := term.Written(), term.CPU()
		time.Sleep(10 * time.Second)
		b.ReportMetric(float64(term.Written()-before), "B")
		b.ReportMetric(float64((term.CPU() - used).Milliseconds()), "cpu-ms")
		b.ReportMetric(term.Memory("VmRSS"), "MB")
		term.Kill()
	}
}
