package exec_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"codeagent/exec"
	"codeagent/sandbox"
)

// places are the environments in which background commands are tested; Linux adds the real
// sandbox.
var places = map[string]func(testing.TB) (*exec.Runner, sandbox.Policy, string){
	"plain": func(t testing.TB) (*exec.Runner, sandbox.Policy, string) {
		r, dir := plain(t)
		return r, sandbox.FullAccess(), dir
	},
}

// patience is a time limit that is long enough for a busy machine.
const patience = 2 * time.Minute

// everywhere runs f with jobs in each place.
func everywhere(t *testing.T, f func(*testing.T, *jobs)) {
	for name, open := range places {
		t.Run(name, func(t *testing.T) {
			r, p, dir := open(t)
			s := &jobs{exec.NewJobs(r, nil), t, p, dir}
			t.Cleanup(func() { s.Close() })
			f(t, s)
		})
	}
}

type jobs struct {
	*exec.Jobs
	t      *testing.T
	policy sandbox.Policy
	dir    string
}

func (s *jobs) start(b exec.Background, w exec.Wait) (*exec.Job, exec.JobOutput) {
	s.t.Helper()
	got, reading, err := s.Start(context.Background(), s.policy, b, w)
	if err != nil {
		s.t.Fatal(err)
	}
	return got, reading
}

func (s *jobs) script(text string) exec.Background {
	return exec.Background{Command: sh(s.dir, text), Text: text}
}

func (s *jobs) terminal(text string) exec.Background {
	b := s.script(text)
	b.Terminal = true
	return b
}

// until waits for text.
func until(text string) exec.Wait { return exec.Wait{Most: patience, Text: text} }

// end waits for the end of the command.
var end = exec.Wait{Most: patience}

func typed(t *testing.T, s *exec.Job, text string) {
	t.Helper()
	if err := s.Type(context.Background(), text); err != nil {
		t.Fatalf("typing %q: %v", text, err)
	}
}

func TestBackgroundThatEndsAtOnceIsNoJob(t *testing.T) {
	everywhere(t, func(t *testing.T, s *jobs) {
		_, reading := s.start(s.script("echo out; echo err >&2; exit 3"), end)
		text := reading.Output.Text()
		if reading.Running || reading.Outcome.Status.Exit != 3 || !strings.Contains(text, "out\n") || !strings.Contains(text, "err\n") {
			t.Errorf("%+v, output %q", reading, text)
		}
		if list := s.List(); len(list) != 0 {
			t.Errorf("still listed: %+v", list)
		}
	})
}

func TestBackgroundIsTypedToAndRead(t *testing.T) {
	everywhere(t, func(t *testing.T, s *jobs) {
		job, reading := s.start(s.script(`echo ready; while read -r line; do echo "got $line"; done; echo over; exit 4`), until("ready"))
		if !reading.Running || !reading.Found || reading.Output.Text() != "ready\n" {
			t.Fatalf("at the start: %+v %q", reading, reading.Output.Text())
		}
		typed(t, job, "one\n")
		if got := job.Read(context.Background(), until("got one\n")).Output.Text(); got != "got one\n" {
			t.Errorf("after typing: %q", got)
		}
		if info := s.List(); len(info) != 1 || !info[0].Running || info[0].ID != job.ID() {
			t.Errorf("list: %+v", info)
		}
		typed(t, job, "two\n\x04") // closes stdin
		reading = job.Read(context.Background(), end)
		if reading.Running || reading.Outcome.Status.Exit != 4 || reading.Output.Text() != "got two\nover\n" {
			t.Errorf("at the end: %+v %q", reading, reading.Output.Text())
		}
		if err := job.Type(context.Background(), "three\n"); !errors.Is(err, exec.ErrEnded) {
			t.Errorf("typed to an ended command: %v", err)
		}
		if news := s.News(); len(news) != 0 {
			t.Errorf("the end was reported by the read, and again as news: %+v", news)
		}
		if info := s.List(); len(info) != 1 || info[0].Running || !info[0].Reported {
			t.Errorf("list after the end was read: %+v", info)
		}
	})
}

func TestBackgroundInterrupted(t *testing.T) {
	everywhere(t, func(t *testing.T, s *jobs) {
		// The process that is ready is not the one that was started: the signal must reach the group.
		const script = `trap : INT; sh -c 'trap "echo caught; exit 5" INT; sleep 1000 & echo ready; wait'; exit $?`
		for name, b := range map[string]exec.Background{"pipes": s.script(script), "terminal": s.terminal(script)} {
			job, _ := s.start(b, until("ready"))
			typed(t, job, "\x03")
			reading := job.Read(context.Background(), end)
			if reading.Outcome.Status.Exit != 5 || !strings.Contains(reading.Output.Text(), "caught") {
				t.Errorf("%s: %+v %q", name, reading.Outcome.Status, reading.Output.Text())
			}
		}
	})
}

func TestBackgroundTerminal(t *testing.T) {
	everywhere(t, func(t *testing.T, s *jobs) {
		job, _ := s.start(s.terminal(`test -t 0 && test -t 1 && test -t 2 && echo terminal; : >/dev/tty && echo its own; stty size; echo TERM=$TERM; stty -echo; echo ready; read -r x; echo "x=$x"; cat; exit 6`), until("ready"))
		typed(t, job, "hello\n\x04")
		reading := job.Read(context.Background(), end)
		out := string(s.Output(job.ID()))
		for _, want := range []string{"terminal\r\n", "its own\r\n", "50 200\r\n", "TERM=dumb\r\n", "x=hello\r\n"} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is missing in %q", want, out)
			}
		}
		if reading.Running || reading.Outcome.Status.Exit != 6 {
			t.Errorf("ended with %+v", reading.Outcome.Status)
		}
	})
}

func TestBackgroundIsKilledWithAllItStarted(t *testing.T) {
	everywhere(t, func(t *testing.T, s *jobs) {
		// A grandchild in a session of its own holds the FIFO open for writing.
		fifo := filepath.Join(s.dir, "fifo")
		if err := syscall.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
		alive, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer alive.Close()
		job, _ := s.start(s.script(`exec 3>fifo; trap '' TERM; setsid sleep 1000 & sleep 1000 & echo ready; wait; wait`), until("ready"))
		if !s.Kill(job.ID()) {
			t.Error("it was not running")
		}
		if err := alive.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		if n, err := alive.Read(make([]byte, 1)); n != 0 || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("somebody still holds the pipe: %d, %v", n, err)
		}
		for _, id := range []int{job.ID(), 99} {
			if s.Kill(id) {
				t.Errorf("killed job %d, which does not run", id)
			}
		}
		news := s.News()
		if len(news) != 1 || news[0].ID != job.ID() || news[0].Running || !news[0].Outcome.Interrupted {
			t.Errorf("news: %+v", news)
		}
		if again := s.News(); len(again) != 0 {
			t.Errorf("the same news again: %+v", again)
		}
	})
}

func TestBackgroundEndsWithItsContextOnlyWhileItStarts(t *testing.T) {
	everywhere(t, func(t *testing.T, s *jobs) {
		ctx, cancel := context.WithCancel(context.Background())
		w := until("never")
		w.Sink = func(int64, []byte) { cancel() }
		_, reading, err := s.Start(ctx, s.policy, s.script("echo ready; sleep 1000"), w)
		if err != nil || reading.Running || !reading.Outcome.Interrupted || len(s.List()) != 0 {
			t.Errorf("interrupted at its start: %v, %+v, %+v", err, reading, s.List())
		}
		ctx, cancel = context.WithCancel(context.Background())
		job, _, err := s.Start(ctx, s.policy, s.script("echo ready; read -r x; exit 7"), until("ready"))
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		typed(t, job, "\n")
		if reading := job.Read(context.Background(), end); reading.Outcome.Status.Exit != 7 {
			t.Errorf("after the call: %+v", reading.Outcome)
		}
	})
}

func TestBackgroundCloseEndsAll(t *testing.T) {
	everywhere(t, func(t *testing.T, s *jobs) {
		for range 3 {
			s.start(s.script("echo ready; sleep 1000"), until("ready"))
		}
		s.start(s.terminal("echo ready; sleep 1000"), until("ready"))
		if killed := s.Close(); len(killed) != 4 {
			t.Errorf("killed %d: %+v", len(killed), killed)
		}
		for _, info := range s.List() {
			if info.Running {
				t.Errorf("still running: %+v", info)
			}
		}
		if _, _, err := s.Start(context.Background(), s.policy, s.script("true"), end); !errors.Is(err, exec.ErrClosing) {
			t.Errorf("started after the end: %v", err)
		}
	})
}

func TestBackgroundLimits(t *testing.T) {
	r, dir := plain(t)
	s := &jobs{exec.NewJobs(r, nil), t, sandbox.FullAccess(), dir}
	defer s.Close()
	var last *exec.Job
	for range 16 {
		last, _ = s.start(s.script("read -r x"), exec.Wait{Most: time.Nanosecond})
	}
	if _, _, err := s.Start(context.Background(), s.policy, s.script("true"), end); !errors.Is(err, exec.ErrTooMany) {
		t.Errorf("one too many: %v", err)
	}
	typed(t, last, "\x04")
	last.Read(context.Background(), end)
	b := s.script("echo ready; sleep 1000")
	b.Timeout = 50 * time.Millisecond
	job, _ := s.start(b, until("ready"))
	if reading := job.Read(context.Background(), end); !reading.Outcome.TimedOut || reading.Outcome.Limit != sandbox.LimitWall {
		t.Errorf("its time is over: %+v", reading.Outcome)
	}
}

func TestBackgroundForgetsTheOldestThatEnded(t *testing.T) {
	r, dir := plain(t)
	s := &jobs{exec.NewJobs(r, nil), t, sandbox.FullAccess(), dir}
	defer s.Close()
	for range 20 {
		job, _ := s.start(s.script("echo ready; read -r x"), until("ready"))
		typed(t, job, "\n")
		job.Read(context.Background(), end)
	}
	list := s.List()
	if len(list) != 16 || list[0].ID != 5 || list[15].ID != 20 {
		t.Errorf("%d are listed: %+v", len(list), list)
	}
}

func TestBackgroundOutputIsBounded(t *testing.T) {
	r, dir := plain(t)
	s := &jobs{exec.NewJobs(r, nil), t, sandbox.FullAccess(), dir}
	defer s.Close()
	const lines = 200_000
	job, first := s.start(s.script(fmt.Sprintf(`echo ready; read -r x; i=0; seq 1 %d; echo done; read -r x`, lines)), until("ready"))
	if first.Output.Total != 6 {
		t.Fatalf("first: %+v", first.Output)
	}
	typed(t, job, "\n")
	o := job.Read(context.Background(), until("done\n")).Output
	if int64(len(o.Head)+len(o.Tail))+o.Skipped != o.Total || len(o.Head)+len(o.Tail) > 20<<10 || !strings.HasSuffix(string(o.Tail), fmt.Sprintf("\n%d\ndone\n", lines)) {
		t.Errorf("head %d, tail %q, skipped %d of %d", len(o.Head), o.Tail[max(len(o.Tail)-40, 0):], o.Skipped, o.Total)
	}
	if !strings.Contains(o.Text(), "whole output in "+filepath.Join(dir, "spill")) {
		t.Errorf("it does not say where the rest is: %.300q", o.Text())
	}
	data, err := os.ReadFile(o.Spill)
	if err != nil || int64(len(data)) != o.Total+6 {
		t.Errorf("the file holds %d bytes of %d: %v", len(data), o.Total+6, err)
	}
	if tail := s.Output(job.ID()); len(tail) < 256<<10 || len(tail) > 512<<10 || !strings.HasSuffix(string(tail), "done\n") {
		t.Errorf("%d bytes are in memory", len(tail))
	}
}

func TestBackgroundThatDoesNotRead(t *testing.T) {
	r, dir := plain(t)
	s := &jobs{exec.NewJobs(r, nil), t, sandbox.FullAccess(), dir}
	defer s.Close()
	job, _ := s.start(s.script("echo ready; sleep 1000"), until("ready"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := job.Type(ctx, strings.Repeat("x", 4<<20)); !errors.Is(err, exec.ErrNotTaken) {
		t.Errorf("4 MiB that nobody reads: %v", err)
	}
}

func TestBackgroundTellsHowManyRun(t *testing.T) {
	r, dir := plain(t)
	told := make(chan int, 10)
	s := &jobs{exec.NewJobs(r, func(n int) { told <- n }), t, sandbox.FullAccess(), dir}
	defer s.Close()
	one, _ := s.start(s.script("echo ready; read -r x"), until("ready"))
	two, _ := s.start(s.script("echo ready; read -r x"), until("ready"))
	typed(t, one, "\n")
	one.Read(context.Background(), end)
	s.Kill(two.ID())
	for _, want := range []int{1, 2, 1, 0} {
		if got := <-told; got != want {
			t.Errorf("told %d, want %d", got, want)
		}
	}
	if l := s.List(); !l[0].Reported || l[1].Reported {
		t.Errorf("before the news, a command that was read to its end and a killed one are reported: %t, %t", l[0].Reported, l[1].Reported)
	}
	if news := s.News(); len(news) != 1 || news[0].ID != two.ID() || !s.List()[1].Reported {
		t.Errorf("news %+v", news)
	}
}
