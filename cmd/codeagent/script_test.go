package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"codeagent/internal/machine"
	"codeagent/internal/scripted"
	"codeagent/linuxsandbox"
	"codeagent/sandbox/protect/protecttest"
	"codeagent/sandbox/sandboxtest"
	sessions "codeagent/session"

	"github.com/rogpeppe/go-internal/testscript"
)

// The scripts run this test binary under the names of both programs, with
// the real sandbox between them: they check arguments, statuses and output.
func TestMain(m *testing.M) {
	testscript.Main(sweeping{m}, map[string]func(){
		"codeagent":             managedMain,
		"socketclient":          socketClient,
		"longtalk":              liveLong,
		"planter":               planter,
		"fakemcp":               fakeMCP,
		linuxsandbox.HelperName: func() { syscall.Exit(linuxsandbox.HelperMain(os.Args)) },
	})
}

// sweeping runs the tests and removes the programs that they built.
type sweeping struct{ *testing.M }

func (s sweeping) Run() int {
	sandboxtest.HeedSignals()
	if err := awayFromProjects(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	status := machine.Run(s.M)
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	plainTests.Remove()
	return status
}

// awayFromProjects moves the tests to a temporary folder that is in no repository and below no
// AGENTS.md, which codeagent would treat as the workspace's.
func awayFromProjects() error {
	for _, temp := range []string{os.TempDir(), "/tmp", "/var/tmp", "/dev/shm"} {
		found := ""
		for dir := filepath.Clean(temp); ; dir = filepath.Dir(dir) {
			for _, name := range []string{".git", "AGENTS.md"} {
				if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
					found = filepath.Join(dir, name)
				}
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
		switch {
		case found != "":
		case temp == os.TempDir():
			return nil
		default:
			return os.Setenv("TMPDIR", temp)
		}
		fmt.Fprintf(os.Stderr, "not working in %s: there is %s\n", temp, found)
	}
	return errors.New("no folder for temporary files is free of a repository and of " + "AGENTS.md")
}

// TestScripts plays the scripts that stand beside the command that they test, and those of the whole
// program.
func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/script/*.txtar")
	beside, bad := filepath.Glob("*/testdata/script/*.txtar")
	if err = errors.Join(err, bad); err != nil || len(files) < 10 || len(beside) < 10 {
		t.Fatal(files, beside, err)
	}
	files = append(files, beside...)
	runScripts(t, testscript.Params{Files: sampled(files, machine.Sample(t, 3))})
}

// runScripts runs scripts, and checks every line of JSON that they print. A Setup of p
// changes the environment last.
func runScripts(t *testing.T, p testscript.Params) {
	if deadline, ok := t.Deadline(); ok {
		p.Deadline = deadline
	}
	p.RequireExplicitExec, p.RequireUniqueNames = true, true
	more := p.Setup
	p.Setup = func(env *testscript.Env) error {
		if err := scriptSetup(env); err != nil || more == nil {
			return err
		}
		return more(env)
	}
	p.Cmds = map[string]func(*testscript.TestScript, bool, []string){
		"model":    scriptModel,
		"listen":   scriptListen,
		"serve":    scriptServe,
		"greet":    scriptGreet,
		"status":   scriptStatus,
		"until":    scriptUntil,
		"lines":    scriptLines,
		"web":      scriptWeb,
		"last":     scriptLast,
		"signin":   scriptSignIn,
		"login":    scriptLogin,
		"image":    scriptImage,
		"open":     scriptOpen,
		"gone":     scriptGone,
		"signal":   scriptSignal,
		"terminal": scriptTerminal,
	}
	testscript.RunT(linesT{t}, p)
}

func scriptSetup(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, "home")
	workspace := filepath.Join(env.WorkDir, "work")
	for _, dir := range []string{home, workspace} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	env.Setenv("HOME", home)
	env.Setenv("AGENT", protecttest.In("{agent}"))
	env.Setenv("AGENT2", protecttest.In("{agent2}"))
	env.Setenv("LANG", "C.UTF-8")
	env.Setenv("GORACE", "atexit_sleep_ms=0") // with the race detector each process would end a second late
	env.Setenv("WORKSPACE", workspace)
	// The sandbox has its own /tmp: a command sees a file of the host's /tmp only if it names it.
	bin, err := filepath.Abs(filepath.SplitList(env.Getenv("PATH"))[0])
	if err != nil {
		return err
	}
	env.Setenv("BIN", bin)
	env.Cd = workspace
	return nil
}

// step is one line of a model's script.
type step struct {
	For   string `json:"for"`
	Text  string `json:"text"`
	Think string `json:"reasoning"`
	Stop  string `json:"stop"` // the finish_reason
	Calls []struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
		Raw  string          `json:"raw"` // arguments as they are, possibly malformed
	} `json:"calls"`
	Sources []json.RawMessage `json:"sources"` // of a web search
	Status  int               `json:"status"`
	Header  map[string]string `json:"header"`
	Body    string            `json:"body"`
	Fault   string            `json:"fault"`
	After   int               `json:"after"`
	Repeat  int               `json:"repeat"` // the text this many times
	Delay   int               `json:"delay_ms"`
}

var faults = map[string]scripted.Fault{
	"": scripted.NoFault, "never": scripted.NeverAnswer, "truncate": scripted.Truncate, "drop": scripted.Drop, "reset": scripted.Reset, "stall": scripted.Stall,
}

// asked counts the requests to each model, by the absolute name of its file.
var asked sync.Map

// scriptModel starts a model server that plays FILE, one JSON step per line, and points
// OPENAI_BASE_URL at it: model FILE. The instructions of request N, from 1, are then in
// FILE.N, its conversation in FILE.N.said, and the request itself in FILE.N.body. With the
// argument inorder each request gets the next step, otherwise each conversation begins with
// the first. FILE.list, if it exists, is the list of models. A step with "for" is played to the conversations whose first message has that text.
func scriptModel(ts *testscript.TestScript, neg bool, args []string) {
	play := scripted.Steps
	if len(args) == 2 && args[1] == "inorder" {
		play, args = scripted.InOrder, args[:1]
	}
	if neg || len(args) != 1 {
		ts.Fatalf("usage: model FILE [inorder]")
	}
	replies := map[string][]scripted.Reply{}
	lines := bufio.NewScanner(strings.NewReader(ts.ReadFile(args[0])))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var st step
		dec := json.NewDecoder(strings.NewReader(os.Expand(lines.Text(), ts.Getenv)))
		dec.DisallowUnknownFields()
		ts.Check(dec.Decode(&st))
		replies[st.For] = append(replies[st.For], st.reply())
	}
	parts := map[string]scripted.Handler{}
	for about, list := range replies {
		parts[about] = play(list...)
	}
	steps := func(r scripted.Request) scripted.Reply {
		for about, part := range parts {
			if about != "" && strings.Contains(r.FirstUser(), about) {
				return part(r)
			}
		}
		return parts[""](r)
	}
	file := ts.MkAbs(args[0])
	requests := new(atomic.Int64)
	asked.Store(file, requests)
	ts.Defer(func() { asked.Delete(file) })
	ts.Setenv("MODEL", file)
	srv, err := scripted.Start(context.Background(), func(r scripted.Request) scripted.Reply {
		name := fmt.Sprintf("%s.%d", file, requests.Add(1))
		_ = os.WriteFile(name, []byte(r.Instructions), 0o644) // its absence fails the script
		_ = os.WriteFile(name+".said", []byte(said(r)), 0o644)
		_ = os.WriteFile(name+".body", r.Body, 0o644)
		return steps(r)
	})
	ts.Check(err)
	ts.Defer(srv.Close)
	if list, err := os.ReadFile(file + ".list"); err == nil {
		srv.List(string(list))
	}
	ts.Setenv("OPENAI_BASE_URL", srv.URL)
	ts.Setenv("OPENAI_API_KEY", "test-key-value")
}

func (st step) reply() scripted.Reply {
	r := scripted.Reply{Text: st.Text, Reasoning: st.Think, Stop: st.Stop, Status: st.Status, Body: st.Body, Fault: faults[st.Fault], After: st.After}
	r.Delay = time.Duration(st.Delay) * time.Millisecond
	if st.Repeat > 0 {
		r.Text, r.Piece = strings.Repeat(st.Text, st.Repeat), 4096
	}
	for _, s := range st.Sources {
		r.Sources = append(r.Sources, string(s))
	}
	for _, c := range st.Calls {
		raw := c.Raw
		if raw == "" {
			raw = string(c.Args)
		}
		r.Calls = append(r.Calls, scripted.Call{Name: c.Name, Arguments: raw})
	}
	if len(st.Header) > 0 {
		r.Header = http.Header{}
		for k, v := range st.Header {
			r.Header.Set(k, v)
		}
	}
	return r
}

// scriptListen opens a server on loopback and sets NAME to its port; a connection fails the
// test: listen NAME.
func scriptListen(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: listen NAME")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Setenv(args[0], strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
	ts.Defer(func() {
		defer l.Close()
		_ = l.(*net.TCPListener).SetDeadline(time.Now().Add(10 * time.Millisecond))
		if conn, err := l.Accept(); err == nil {
			conn.Close()
			ts.Fatalf("a connection reached the listener %s", args[0])
		}
	})
}

// scriptGreet opens a server that greets whoever connects, with its port in a
// variable: greet NAME.
func scriptGreet(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: greet NAME")
	}
	door, err := scripted.OpenDoor(context.Background(), "hello from outside\n")
	ts.Check(err)
	ts.Defer(door.Close)
	_, port, err := net.SplitHostPort(door.Addr)
	ts.Check(err)
	ts.Setenv(args[0], port)
}

// scriptStatus runs a command and compares its exit status: status N CMD...
// What it printed is then checked with stdout and stderr.
func scriptStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N CMD...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		code, ok := err.(interface{ ExitCode() int })
		if !ok {
			ts.Fatalf("%s: %v", args[1], err)
		}
		got = code.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d\nstdout: %s\nstderr: %s", got, want, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// scriptUntil runs a command until its output matches, and compares its exit status each
// time. It is for events for which codeagent waits only briefly, too briefly on a busy
// machine: until PATTERN N CMD...
func scriptUntil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: until PATTERN N CMD...")
	}
	for range 50 {
		scriptStatus(ts, false, args[1:])
		if regexp.MustCompile(args[0]).MatchString(ts.ReadFile("stdout") + ts.ReadFile("stderr")) {
			return
		}
	}
	ts.Fatalf("it never prints %s\nstdout: %s\nstderr: %s", args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
}

// scriptLast sets NAME to the session that was used last: last NAME.
func scriptLast(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: last NAME")
	}
	for sum, err := range sessions.New(filepath.Join(ts.Getenv("HOME"), ".local/state/codeagent/sessions")).List() {
		ts.Check(err)
		ts.Setenv(args[0], sum.ID)
		return
	}
	ts.Fatalf("no session is kept")
}
