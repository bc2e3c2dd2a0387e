//go:build linux

package denials

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/linuxsandbox/broker"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// person is a Holder that a test answers question by question.
type person struct{ asked chan asking }

// asking is a question that waits for an answer.
type asking struct {
	sandbox.Denial
	ctx    context.Context
	answer chan<- *sandbox.Grant // nil means no
}

func (*person) Asks(sandbox.Denial) bool { return true }

func (p *person) Hold(ctx context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
	answer := make(chan *sandbox.Grant, 1)
	p.asked <- asking{d, ctx, answer}
	select {
	case g := <-answer:
		if g == nil {
			return sandbox.Grant{}, false
		}
		return *g, true
	case <-ctx.Done():
		return sandbox.Grant{}, false
	}
}

func (a asking) yes() { a.answer <- &sandbox.Grant{Write: []string{a.Target}} }
func (a asking) no()  { a.answer <- nil }

// talk is a command with which a test exchanges lines while the command's refused calls wait.
type talk struct {
	*testing.T
	person
	proc sandbox.Process
	in   *os.File
	said chan string
}

func newTalk(t *testing.T, th *backendtest.Theatre, path string, args ...string) *talk {
	t.Helper()
	inRead, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, outWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	// The command must wait for its lines, so reading blocks.
	if err := unix.SetNonblock(int(inRead.Fd()), false); err != nil {
		t.Fatal(err)
	}
	k := &talk{T: t, person: person{make(chan asking, broker.MaxWaiting)}, in: in, said: make(chan string, 100)}
	k.proc, err = sandboxtest.Start(th.Backend, t.Context(), th.Policy, sandbox.Command{
		Path: path, Args: append([]string{path}, args...), Dir: th.Dir, Env: th.Env("", th.Out), Stdin: inRead, Stdout: outWrite, Stderr: outWrite,
	}, &k.person)
	inRead.Close()
	outWrite.Close()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(k.said)
		for s := bufio.NewScanner(out); s.Scan(); {
			k.said <- s.Text()
		}
	}()
	t.Cleanup(func() { k.proc.Kill(); _, _ = k.proc.Wait(); in.Close(); out.Close() })
	return k
}

// next returns the next question, which must be about target.
func (k *talk) next(target string) asking {
	k.Helper()
	select {
	case a := <-k.asked:
		if a.Target != target {
			k.Fatalf("asked for %+v, want %s", a.Denial, target)
		}
		return a
	case <-time.After(attack.Patience):
		k.Fatalf("not asked for %s", target)
	}
	panic("not reached")
}

// tell sends the command a line.
func (k *talk) tell() {
	k.Helper()
	if _, err := k.in.WriteString("\n"); err != nil {
		k.Fatal(err)
	}
}

// hears checks the command's next line; "" is end of file.
func (k *talk) hears(want string) {
	k.Helper()
	select {
	case got := <-k.said:
		if got != want {
			k.Fatalf("the command says %q, want %q", got, want)
		}
	case <-time.After(attack.Patience):
		k.Fatalf("the command does not say %q", want)
	}
}

// grants answers yes to a, and to the same question if it is asked again: a call interrupted by a
// signal may return after a while.
func (k *talk) grants(a asking) {
	a.yes()
	go func() {
		for {
			select {
			case again := <-k.asked:
				again.yes()
			case <-k.Context().Done():
				return
			}
		}
	}()
}

// over waits until the question is withdrawn.
func (k *talk) over(a asking) {
	k.Helper()
	select {
	case <-a.ctx.Done():
	case <-time.After(attack.Patience):
		k.Fatalf("the question about %s still stands", a.Target)
	}
}

// ends checks how the command ended and that nothing else was asked. It returns the denials.
func (k *talk) ends(exit int) []sandbox.Denial {
	k.Helper()
	st, err := k.proc.Wait()
	if err != nil || st.Exit != exit {
		k.Errorf("the command ended with %+v, %v; want exit status %d", st, err, exit)
	}
	select {
	case a := <-k.asked:
		k.Errorf("asked too for %+v", a.Denial)
	default:
	}
	return k.proc.Trace().Denials
}

// chmodOut is the call that waits in these tests: it changes a mode outside.
const chmodOut = `chmod 640 "$TARGET"`

func modeOf(t *testing.T, path string) string {
	t.Helper()
	return fmt.Sprintf("%o", attack.Stat(t, path).Mode&0o777)
}

// TestHeldCallerGoes: when a caller ends, its question is withdrawn and nothing is done for it.
func TestHeldCallerGoes(t *testing.T) {
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		python := attack.Need(t, "python3")
		for _, row := range []struct {
			name    string
			command []string
		}{
			{"killed", []string{"bash", "-c", chmodOut + ` & read x; kill -9 $!; wait $! 2>/dev/null; echo ended $?; read x; exit 7`}},
			{"another thread exits", []string{python, "-c", `
import os, threading
p = os.fork()
if p == 0:
    threading.Thread(target=os.chmod, args=(os.environ["TARGET"], 0o640)).start()
    input(); os._exit(137)
print("ended", os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]), flush=True)
input(); os._exit(7)`}},
			{"terminated", []string{"bash", "-c", chmodOut + ` & read x; kill $!; wait $! 2>/dev/null; test $? = 143 && echo ended 137; read x; exit 7`}},
			{"a signal that dumps core", []string{"bash", "-c", chmodOut + ` & read x; kill -ABRT $!; wait $! 2>/dev/null; test $? = 134 && echo ended 137; read x; exit 7`}},
		} {
			t.Run(row.name, func(t *testing.T) {
				k := newTalk(t, th, row.command[0], row.command[1:]...)
				a := k.next(th.Out)
				k.tell()
				k.hears("ended 137")
				k.over(a)
				k.tell()
				if denials := k.ends(7); len(denials) > 0 || modeOf(t, th.Out) != "600" {
					t.Errorf("mode %s, %+v", modeOf(t, th.Out), denials)
				}
			})
		}
	})
}

// TestHeldSignal: a signal interrupts a call that waits for the user like one that waits in the
// kernel.
func TestHeldSignal(t *testing.T) {
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		python := attack.Need(t, "python3")
		const begin = "import os, signal, threading, time\n"
		for _, row := range []struct {
			name, script string
			signal       int
			want         string
		}{
			{"a handler that raises", `
try: os.chmod(os.environ["TARGET"], 0o640)
except KeyboardInterrupt: print("interrupted", flush=True)`, 2, "600"},
			{"with another thread", `
e = threading.Event(); threading.Thread(target=e.wait).start()
try: os.chmod(os.environ["TARGET"], 0o640)
except KeyboardInterrupt: print("interrupted", flush=True)
e.set()`, 2, "600"},
			{"a handler after which the call goes on", `
signal.signal(signal.SIGUSR1, lambda *a: None); signal.siginterrupt(signal.SIGUSR1, False)
r, w = os.pipe(); os.set_blocking(w, False); signal.set_wakeup_fd(w)
if os.fork() == 0:
    os.read(r, 1); print("interrupted", flush=True); os._exit(0)
os.chmod(os.environ["TARGET"], 0o640)`, 10, "640"},
		} {
			t.Run(row.name, func(t *testing.T) {
				k := newTalk(t, th, python, "-c", begin+row.script)
				a := k.next(th.Out)
				if err := k.proc.Signal(row.signal); err != nil {
					t.Fatal(err)
				}
				k.hears("interrupted")
				if row.want == "640" {
					k.grants(a)
				}
				if denials := k.ends(0); len(denials) > 0 || modeOf(t, th.Out) != row.want {
					t.Errorf("mode %s, want %s; %+v", modeOf(t, th.Out), row.want, denials)
				}
				if err := os.Chmod(th.Out, 0o600); err != nil {
					t.Fatal(err)
				}
			})
		}
	})
}

// TestHeldStop: a waiting caller can be stopped. Afterwards it continues to wait, with the same
// question.
func TestHeldStop(t *testing.T) {
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		k := newTalk(t, th, "bash", "-c", chmodOut+` & p=$!; read x; kill -STOP $p
until s=$(</proc/$p/stat); [[ $s == *") T"* ]]; do :; done; echo stopped; read x; kill -CONT $p; echo continued; wait $p`)
		a := k.next(th.Out)
		k.tell()
		k.hears("stopped")
		k.tell()
		k.hears("continued")
		k.grants(a)
		if denials := k.ends(0); len(denials) > 0 || modeOf(t, th.Out) != "640" {
			t.Errorf("mode %s, %+v", modeOf(t, th.Out), denials)
		}
	})
}

// TestHeldEnds: the end of a command ends its questions.
func TestHeldEnds(t *testing.T) {
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		k := newTalk(t, th, "bash", "-c", chmodOut)
		a := k.next(th.Out)
		k.proc.Kill()
		k.over(a)
		if denials := k.ends(-1); len(denials) > 0 || modeOf(t, th.Out) != "600" {
			t.Errorf("mode %s, %+v", modeOf(t, th.Out), denials)
		}
	})
}

// TestHeldManyAtOnce: identical calls are one question and different ones wait for their turn. The
// command's other calls continue meanwhile.
func TestHeldManyAtOnce(t *testing.T) {
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		python := attack.Need(t, "python3")
		away := filepath.Dir(th.Out)
		for i := range 300 {
			if err := os.WriteFile(fmt.Sprint(th.Out, i), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		const script = `
import os, sys, threading
done = []
def change(path):
    try: os.chmod(path, 0o640); done.append(0)
    except PermissionError: pass
threads = [threading.Thread(target=change, args=(os.environ["TARGET"] + (str(i) if len(sys.argv) > 1 else ""),)) for i in range(300)]
for t in threads: t.start()
os.chmod("file", 0o611); print("goes on", flush=True)
for t in threads: t.join()
print(len(done), flush=True)`
		t.Run("alike", func(t *testing.T) {
			k := newTalk(t, th, python, "-c", script)
			a := k.next(th.Out)
			k.hears("goes on")
			a.yes()
			k.hears("300")
			k.ends(0)
		})
		t.Run("different, a folder is granted", func(t *testing.T) {
			k := newTalk(t, th, python, "-c", script, "different")
			var open []asking
			for range broker.MaxQuestions {
				open = append(open, <-k.asked)
			}
			k.hears("goes on")
			open[3].answer <- &sandbox.Grant{Write: []string{away}}
			k.hears("300")
			for i, a := range open {
				if i != 3 {
					k.over(a) // it is open by now: no answer is needed
				}
			}
			if denials := k.ends(0); len(denials) > 0 || modeOf(t, th.Out+"299") != "640" {
				t.Errorf("%+v", denials)
			}
		})
		t.Run("different, always no", func(t *testing.T) {
			p := &backendtest.Asker{Answer: backendtest.No}
			f, err := os.Create(filepath.Join(t.TempDir(), "out"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			proc, err := sandboxtest.Start(th.Backend, t.Context(), th.Policy, sandbox.Command{
				Path: python, Args: []string{python, "-c", script, "different"}, Dir: th.Dir, Env: th.Env("", th.Out), Stdout: f,
			}, p)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := proc.Wait(); err != nil {
				t.Fatal(err)
			}
			text, _ := os.ReadFile(f.Name())
			if string(text) != "goes on\n0\n" || len(proc.Trace().Denials) != 300 || len(p.Targets()) > broker.MaxQuestions+broker.MaxNoes {
				t.Errorf("%q, %d recorded, %d asked", text, len(proc.Trace().Denials), len(p.Targets()))
			}
		})
	})
}

// TestHeldFlip: what the call names changes while the question is open. The grant is for what was
// asked, and what the call then reaches is asked about again.
func TestHeldFlip(t *testing.T) {
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		python := attack.Need(t, "python3")
		other := filepath.Join(filepath.Dir(th.Out), "other")
		if err := os.WriteFile(other, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, row := range []struct {
			name    string
			command []string
		}{
			{"in memory", []string{python, "-c", `
import ctypes, os, threading
path = ctypes.create_string_buffer(os.environ["TARGET"].encode(), 4096); chmod = ctypes.CDLL(None, use_errno=True).chmod
def change(): print(chmod(path, 0o640), os.strerror(ctypes.get_errno()), flush=True)
t = threading.Thread(target=change); t.start()
input(); path.value = path.value[:-4] + b"other"; print("flipped", flush=True)
t.join()`}},
			{"a link", []string{"bash", "-c", `ln -sfn "$TARGET" link; chmod 640 link 2>/dev/null & read x; ln -sfn "${TARGET%file}other" new; mv -T new link; echo flipped; wait $! || echo -1 Operation not permitted`}},
			{"a folder on the way", []string{"bash", "-c", `rm -rf a b c; mkdir a c; ln -s "$TARGET" a/x; ln -s "${TARGET%file}other" c/x; chmod 640 a/x 2>/dev/null & read x; mv a b; mv c a; echo flipped; wait $! || echo -1 Operation not permitted`}},
		} {
			t.Run(row.name, func(t *testing.T) {
				k := newTalk(t, th, row.command[0], row.command[1:]...)
				a := k.next(th.Out)
				k.tell()
				k.hears("flipped")
				a.yes()
				k.next(other).no()
				k.hears("-1 Operation not permitted")
				denials := k.ends(0)
				if len(denials) != 1 || denials[0].Target != other || modeOf(t, th.Out) != "600" || modeOf(t, other) != "600" {
					t.Errorf("modes %s and %s, %+v", modeOf(t, th.Out), modeOf(t, other), denials)
				}
			})
		}
	})
}

// TestHeldReplaced: the host replaces the file under the name while the question is open. The grant
// was for the file that was shown.
func TestHeldReplaced(t *testing.T) {
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		k := newTalk(t, th, "bash", "-c", chmodOut+" 2>/dev/null || "+chmodOut+" || echo no")
		a := k.next(th.Out)
		if err := os.WriteFile(th.Out+".new", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(th.Out+".new", th.Out); err != nil {
			t.Fatal(err)
		}
		a.yes()
		denials := k.ends(0)
		if len(denials) != 1 || denials[0].Count != 2 || modeOf(t, th.Out) != "600" {
			t.Errorf("mode %s, %+v", modeOf(t, th.Out), denials)
		}
	})
}

// TestHeldGrants: an answer opens what it names if that covers what was asked for. It never opens
// the system, codeagent's own files or the way out of the sandbox.
func TestHeldGrants(t *testing.T) {
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		away := filepath.Dir(th.Out)
		own := filepath.Join(away, "own")
		if err := os.WriteFile(own, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		th.Policy.Protected.Own = []string{own}
		for _, row := range []struct {
			name  string
			grant sandbox.Grant
			mode  string
		}{
			{"the folder", sandbox.Grant{Write: []string{away}}, "640"},
			{"another file", sandbox.Grant{Write: []string{th.Out + "2"}}, "600"},
			{"nothing", sandbox.Grant{}, "600"},
			{"everything", sandbox.Grant{Write: []string{"/"}}, "600"},
			{"no clean path", sandbox.Grant{Write: []string{away + "/../away/"}}, "600"},
			{"to leave the sandbox", sandbox.Grant{Unsandboxed: true, Write: []string{away}}, "600"},
		} {
			t.Run(row.name, func(t *testing.T) {
				a := &backendtest.Asker{Answer: func(context.Context, sandbox.Denial) (sandbox.Grant, bool) { return row.grant, true }}
				_, out, denials := th.Held(t, a, chmodOut+` || true; chmod 640 "${TARGET%file}own" || echo refused`)
				if !strings.HasSuffix(out, "refused\n") || modeOf(t, th.Out) != row.mode || modeOf(t, own) != "600" || len(a.Targets()) != 1 {
					t.Errorf("mode %s, want %s; own %s; asked %q; %+v", modeOf(t, th.Out), row.mode, modeOf(t, own), a.Targets(), denials)
				}
				if err := os.Chmod(th.Out, 0o600); err != nil {
					t.Fatal(err)
				}
			})
		}
	})
}
