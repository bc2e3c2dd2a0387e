package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"codeagent/agent"
	"codeagent/internal/machine"
	"codeagent/internal/scripted"
	"codeagent/model"
	"codeagent/model/modeltest"
	sessions "codeagent/session"
)

// longSession is a busy model: in each turn it calls several times, two commands at once, and
// then answers. It checks every request by the API's rules.
type longSession struct {
	mu    sync.Mutex
	wrong []error
	last  scripted.Request
}

// callsPerTurn is how many messages with calls precede the answer of a turn.
const callsPerTurn = 4

func (l *longSession) answer(r scripted.Request) scripted.Reply {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := modeltest.ValidChat(r.Body); err != nil {
		l.wrong = append(l.wrong, err)
	}
	l.last = r
	turn, done := "", 0
	for _, m := range r.Messages {
		switch {
		case m.Role == "user":
			turn, done = m.Text, 0
		case len(m.Calls) > 0:
			done++
		}
	}
	reply := scripted.Reply{Text: fmt.Sprintf("%s, step %d", turn, done), Piece: 4, Delay: 500 * time.Microsecond}
	if done < callsPerTurn {
		for i := range 2 {
			// Each command records its run under its name. The first ends while the second runs.
			name := fmt.Sprintf("%d-%d-%d", r.N, done, i)
			reply.Calls = append(reply.Calls, scripted.Call{ID: "call_" + name, Name: "shell", Arguments: fmt.Sprintf(`{"command":"echo %s >> ran; sleep 0.0%d; echo out %s"}`, name, 3*i, name)})
		}
	}
	return reply
}

func (l *longSession) lastRequest(t *testing.T) scripted.Request {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, err := range l.wrong {
		t.Errorf("a request breaks the wire's rules: %v", err)
	}
	l.wrong = nil
	return l.last
}

// messagesOf converts items to messages of the API: user, answer with its calls, results.
func messagesOf(items []model.Item) []string {
	var out []string
	said := ""
	for _, i := range items {
		switch {
		case i.Kind == model.Assistant:
			said = "assistant " + i.Text
			out = append(out, said)
		case i.Kind == model.Call:
			if said == "" {
				out = append(out, "assistant ")
			}
			said = "calls"
			out[len(out)-1] += " " + i.Call.ID
		case i.Kind == model.Result:
			said = ""
			out = append(out, "tool "+i.CallID+" "+i.Text)
		case len(out) > 0 && strings.HasPrefix(out[len(out)-1], "user "): // the API joins consecutive messages
			out[len(out)-1] += "\n\n" + i.Text
		default:
			said = ""
			out = append(out, "user "+i.Text)
		}
	}
	return out
}

func messagesIn(r scripted.Request) []string {
	var out []string
	for _, m := range r.Messages {
		line := m.Role + " " + m.Text
		if m.Role == "tool" {
			line = "tool " + m.CallID + " " + m.Text
		}
		for _, c := range m.Calls {
			line += " " + c.ID
		}
		out = append(out, line)
	}
	return out
}

// TestKilledAtAnyMoment: codeagent is killed at random moments of a long session, repeatedly,
// and resumes each time. Nothing that was sent to the model, printed or run is lost, and
// earlier records do not change.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the Linux sandbox is needed")
	}
	kills := machine.Times(6, 100)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d, %d kills", seed, kills)
	random := rand.New(rand.NewPCG(seed, 0))

	work := &longSession{}
	srv, err := scripted.Start(context.Background(), work.answer)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	k := killing{t: t, user: newUser(t, "self", -1), work: work, url: srv.URL}

	begun := time.Now()
	if r := k.run(0, "exec", "turn 0"); r.code != 0 {
		t.Fatalf("without a kill: %v", r)
	}
	whole := time.Since(begun)
	k.look("exec turn 0", true)
	hit := 0
	for n := 1; n <= kills; n++ {
		after := time.Duration(random.Int64N(int64(whole) * 11 / 10))
		r := k.run(after, "exec", "resume", k.id, fmt.Sprintf("turn %d", n))
		if r.code != -1 && r.code != 0 {
			t.Fatalf("turn %d, to be killed after %s: %v", n, after, r)
		}
		if r.code == -1 {
			hit++
		}
		k.look(fmt.Sprintf("turn %d, killed after %s", n, after), strings.Contains(r.stdout, `"type":"turn.completed"`))
		k.told(n, r.stdout)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d were killed before they had ended", hit)
	if r := k.run(0, "exec", "resume", k.id, "the last turn"); r.code != 0 || !strings.Contains(r.stdout, fmt.Sprintf("the last turn, step %d", callsPerTurn)) {
		t.Errorf("seed %d: it does not go on: %v", seed, r)
	}
	k.look("the last turn", true)
}

// killing is one session and its expected state.
type killing struct {
	t    *testing.T
	user user
	work *longSession
	url  string
	id   string
	// before is the earlier content of the file, its whole lines.
	before []byte
	items  []model.Item
}

// run runs codeagent and kills it after a time; 0 lets it end.
func (k *killing) run(after time.Duration, args ...string) result {
	k.t.Helper()
	cmd := k.user.codeagent(slices.Insert(args, 1, "--json", "--model", "test")...)
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+k.url)
	if after == 0 {
		return run1(k.t, cmd)
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	kill := time.AfterFunc(after, func() { _ = cmd.Process.Signal(syscall.SIGKILL) })
	defer kill.Stop()
	_ = cmd.Wait()
	checkLines(k.t, cmd, out.String())
	return result{code: cmd.ProcessState.ExitCode(), stdout: out.String(), stderr: errs.String()}
}

// look checks that the file contains everything it must.
func (k *killing) look(what string, turnOver bool) {
	k.t.Helper()
	store := sessions.New(k.user.home + "/.local/state/codeagent/sessions")
	n := 0
	for sum := range store.List() {
		k.id = sum.ID
		n++
	}
	if n != 1 {
		k.t.Fatalf("%s: there are %d sessions", what, n)
	}
	data, err := os.ReadFile(k.user.home + "/.local/state/codeagent/sessions/" + k.id + ".jsonl")
	if err != nil {
		k.t.Fatal(err)
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	if !bytes.HasPrefix(data, k.before) {
		k.t.Errorf("%s: what stood in the file was changed", what)
	}
	k.before = data
	ses, err := store.Open(sessions.Info{ID: k.id})
	if err != nil {
		k.t.Fatalf("%s: %v", what, err)
	}
	defer ses.Close()
	h, err := ses.History(sessions.HistoryLimit)
	if err != nil || h.Damaged > 0 || h.Omitted {
		k.t.Fatalf("%s: %v, %d damaged", what, err, h.Damaged)
	}
	k.items = h.Items
	k.nothingLost(what, turnOver)
}

func (k *killing) nothingLost(what string, turnOver bool) {
	k.t.Helper()
	kept, given := messagesOf(agent.Repair(k.items)), messagesIn(k.work.lastRequest(k.t))
	n := len(given) - 1 // its last message may have got a second part, if nothing came between
	if n >= len(kept) || !slices.Equal(given[:n], kept[:n]) || !strings.HasPrefix(kept[n], given[n]) {
		k.t.Errorf("%s: the model was given\n%s\nand kept is\n%s", what, tailOf(given), tailOf(kept))
	}
	if last := kept[len(kept)-1]; turnOver && !strings.HasPrefix(last, "assistant ") {
		k.t.Errorf("%s: the turn was over, and the last that is kept is %s", what, last)
	}
	ran, err := os.ReadFile(k.user.work + "/ran")
	if err != nil {
		k.t.Fatal(err)
	}
	calls := map[string]bool{}
	for _, i := range k.items {
		if i.Kind == model.Call {
			calls[strings.TrimPrefix(i.Call.ID, "call_")] = true
		}
	}
	for name := range strings.Lines(string(ran)) {
		if !calls[strings.TrimSpace(name)] {
			k.t.Errorf("%s: the command %s ran, and no call of it is kept", what, strings.TrimSpace(name))
		}
	}
}

// told compares the file with stdout: a command that was reported as ended has its result.
func (k *killing) told(n int, stdout string) {
	k.t.Helper()
	results := 0
	for i := range k.items {
		if k.items[i].Kind == model.User {
			results = 0 // of the last turn alone
		}
		if k.items[i].Kind == model.Result {
			results++
		}
	}
	ended := 0
	lines := bufio.NewScanner(strings.NewReader(stdout))
	for lines.Scan() {
		var line struct {
			Type string
			Item struct{ Type string }
		}
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Type == "item.completed" && line.Item.Type == "command_execution" {
			ended++
		}
	}
	if ended > results {
		k.t.Errorf("turn %d: %d commands were reported as ended, but only %d results are kept", n, ended, results)
	}
}

// tailOf returns the end of a list, where lists differ.
func tailOf(list []string) string { return strings.Join(list[max(0, len(list)-6):], "\n") }
