package exec_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"codeagent/exec"
	"codeagent/sandbox"
)

// writing is a server that writes to each file that it gets, and reports how that went.
const writing = `while read -r f; do if echo x >"$f"; then echo ok; else echo no; fi; done; sleep 60 & exit 7`

// served is a service with a protocol of lines.
type served struct {
	*exec.Service
	t   *testing.T
	out *bufio.Scanner
}

func serve(t *testing.T, r *exec.Runner, p sandbox.Policy, c exec.Command) served {
	t.Helper()
	s, err := r.Serve(t.Context(), p, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return served{s, t, bufio.NewScanner(s.Out)}
}

// call sends a line in a call of its own.
func (s served) call(line string, h sandbox.Holder) (answer string, during sandbox.Trace, granted []sandbox.Grant) {
	s.t.Helper()
	if between := s.Begin(s.t.Context(), h, nil); len(between.Denials) > 0 {
		s.t.Errorf("refused between calls: %+v", between.Denials)
	}
	fmt.Fprintln(s.In, line)
	if !s.out.Scan() {
		s.t.Fatalf("no answer: %v; it printed %q", s.out.Err(), s.Errors())
	}
	answer = s.out.Text()
	during, granted = s.End()
	return answer, during, granted
}

// granting says yes to every question.
type granting struct{ asked []string }

func (g *granting) Asks(sandbox.Denial) bool { return true }

func (g *granting) Hold(_ context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
	g.asked = append(g.asked, d.Target)
	return sandbox.Grant{Write: []string{d.Target}}, true
}

// TestServeParts: what is refused belongs to the call in which it was refused, also when it is the
// same every time. Nobody is asked after a call, and a later call may be asked about again.
func TestServeParts(t *testing.T) {
	r, p, ws, out := confined(t)
	s := serve(t, r, p, sh(ws, writing))
	one, two := filepath.Join(out, "one"), filepath.Join(out, "two")
	for range 2 {
		if answer, during, _ := s.call(one, nil); answer != "no" || len(during.Denials) != 1 || during.Denials[0].Target != one || during.Denials[0].Count != 1 {
			t.Errorf("%s: %+v", answer, during.Denials)
		}
	}
	if answer, during, _ := s.call(filepath.Join(ws, "x"), nil); answer != "ok" || len(during.Denials) != 0 {
		t.Errorf("in the workspace: %s, %+v", answer, during.Denials)
	}
	h := &granting{}
	if answer, _, granted := s.call(two, h); answer != "ok" || !slices.Equal(h.asked, []string{two}) || len(granted) != 1 {
		t.Errorf("granted: %s, asked %q, %+v", answer, h.asked, granted)
	}
	if became := s.Revoke(sandbox.Revocation{Grant: sandbox.Grant{Write: []string{two}}}); became.Cut != 0 {
		t.Errorf("%+v", became)
	}
	if answer, during, _ := s.call(two, nil); answer != "no" || len(during.Denials) != 1 {
		t.Errorf("after the revocation: %s, %+v", answer, during.Denials)
	}
	if answer, _, _ := s.call(two, h); answer != "ok" || len(h.asked) != 2 {
		t.Errorf("asked again in a later call: %s, %q", answer, h.asked)
	}
	v := s.Judge(sandbox.Trace{Evidence: sandbox.EvidenceFull, Denials: []sandbox.Denial{{Kind: sandbox.KindWrite, Operation: "openat", Target: one, Evidence: sandbox.EvidenceKernel, Count: 1}}}, true, "it failed")
	if !v.Denied || len(v.Suggest.Write) != 1 {
		t.Errorf("the verdict on a call that failed: %+v", v)
	}
}

// TestServeRevoked: a revocation from the commands leaves a service alone, since what the settings
// open for it belongs to no command. Its own reaches it.
func TestServeRevoked(t *testing.T) {
	r, p, ws, _ := confined(t)
	s := serve(t, r, p, sh(ws, writing))
	x := filepath.Join(ws, "x")
	back := sandbox.Revocation{Grant: sandbox.Grant{Write: []string{ws}}}
	if running, _ := r.Revoke(back); running != 0 {
		t.Errorf("%d services were counted as commands", running)
	}
	if answer, _, _ := s.call(x, nil); answer != "ok" {
		t.Errorf("after a revocation from the commands: %s", answer)
	}
	s.Revoke(back)
	if answer, during, _ := s.call(x, nil); answer != "no" || len(during.Denials) == 0 {
		t.Errorf("after its own: %s, %+v", answer, during.Denials)
	}
}

// TestServeEnds: a program that ends is noticed with everything it left behind, and Close ends one
// that ignores the end of its input.
func TestServeEnds(t *testing.T) {
	r, p, ws, _ := confined(t)
	for name, script := range map[string]string{
		"at the end of its input": writing,
		"by itself":               "head -c 100000 /dev/zero | tr '\\0' e >&2; sleep 60 & exit 3",
		"by force":                "trap '' TERM; while :; do sleep 60; done",
	} {
		s := serve(t, r, p, sh(ws, script))
		if name == "by itself" {
			<-s.Done()
		}
		s.Close()
		o, err := s.Outcome()
		want := map[string]int{"at the end of its input": 7, "by itself": 3, "by force": 0}[name]
		if err != nil || name == "by force" != (o.Status.Signal != 0) || name != "by force" && o.Status.Exit != want {
			t.Errorf("%s: %+v, %v", name, o.Status, err)
		}
		if n := len(s.Errors()); n > 17<<10 || name == "by itself" && n == 0 {
			t.Errorf("%s: %d bytes of stderr", name, n)
		}
	}
}

// waiting answers with yes after it was released.
type waiting struct{ asked, release chan struct{} }

func (waiting) Asks(sandbox.Denial) bool { return true }

func (w waiting) Hold(_ context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
	close(w.asked)
	<-w.release
	return sandbox.Grant{Write: []string{d.Target}}, true
}

// TestServeLateYes: a yes after the end of the call opens nothing.
func TestServeLateYes(t *testing.T) {
	r, p, ws, out := confined(t)
	s := serve(t, r, p, sh(ws, writing))
	w := waiting{make(chan struct{}), make(chan struct{})}
	s.Begin(t.Context(), w, nil)
	fmt.Fprintln(s.In, filepath.Join(out, "x"))
	<-w.asked
	during, granted := s.End()
	close(w.release)
	if len(during.Denials) != 1 || len(granted) != 0 {
		t.Errorf("%+v, granted %+v", during.Denials, granted)
	}
	if !s.out.Scan() || s.out.Text() != "no" {
		t.Errorf("answer %q", s.out.Text())
	}
	if _, err := os.Lstat(filepath.Join(out, "x")); err == nil {
		t.Error("the file was made")
	}
}

// observed records which paths were reported.
type observed struct{ paths []string }

func (o *observed) BeforeChange(_ int, _, path string) { o.paths = append(o.paths, path) }

func (o *observed) Unsaved(int, string, string) string { return "" }

// TestServeObserved: each call gets its own reports, also about a path that an earlier one changed.
func TestServeObserved(t *testing.T) {
	r, p, ws, _ := confined(t)
	if !r.Observes(p) {
		t.Skip("changes are not reported here")
	}
	c := sh(ws, writing)
	c.Observer = &observed{}
	s := serve(t, r, p, c)
	x := filepath.Join(ws, "x")
	for range 2 {
		var o observed
		s.Begin(t.Context(), nil, &o)
		fmt.Fprintln(s.In, x)
		s.out.Scan()
		s.End()
		if !slices.Equal(o.paths, []string{x}) {
			t.Errorf("reported %q", o.paths)
		}
	}
}

// BenchmarkServe compares the time until a server has answered its first line with that of a bare
// child. It prints the best and the median of both, and what the confinement adds, in ms.
func BenchmarkServe(b *testing.B) {
	r, p, ws, _ := confined(b)
	first := func(read *bufio.Reader, write *os.File) {
		fmt.Fprintln(write, "x")
		if line, err := read.ReadString('\n'); err != nil || strings.TrimSpace(line) != "x" {
			b.Fatal(line, err)
		}
	}
	var bare, boxed []time.Duration
	for b.Loop() {
		begun := time.Now()
		cmd := osexec.Command("/bin/cat")
		in, err := cmd.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		first(bufio.NewReader(out), in.(*os.File))
		bare = append(bare, time.Since(begun))
		in.Close()
		_ = cmd.Wait()

		begun = time.Now()
		s, err := r.Serve(context.Background(), p, exec.Command{Argv: []string{"/bin/cat"}, Dir: ws})
		if err != nil {
			b.Fatal(err)
		}
		first(bufio.NewReader(s.Out), s.In)
		boxed = append(boxed, time.Since(begun))
		s.Close()
	}
	slices.Sort(bare)
	slices.Sort(boxed)
	report := func(d time.Duration, unit string) { b.ReportMetric(d.Seconds()*1e3, unit) }
	report(bare[0], "bare-best-ms")
	report(bare[len(bare)/2], "bare-median-ms")
	report(boxed[0], "served-best-ms")
	report(boxed[len(boxed)/2], "served-median-ms")
	report(boxed[0]-bare[0], "added-best-ms")
	report(boxed[len(boxed)/2]-bare[len(bare)/2], "added-median-ms")
}
