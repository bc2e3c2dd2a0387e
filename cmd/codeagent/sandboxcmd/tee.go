package sandboxcmd

import (
	"io"
	"os"
	"slices"

	"codeagent/cmd/codeagent/cli"
	"codeagent/exec"

	"github.com/creack/pty"
	"golang.org/x/term"
)

// keepStderr is how much of the first and of the last of a command's stderr is
// kept for the verdict, in bytes each.
const keepStderr = 32 << 10

// tee stands between a command's stderr and ours: what passes is also kept, since
// the verdict of `codeagent sandbox` is read from it. Where ours is a terminal
// the command sees one too, a raw one of its own, so that it behaves as it would.
type tee struct {
	// file is the command's stderr.
	file       *os.File
	source     *os.File
	done       chan struct{}
	head, tail []byte
	total      int64
}

// newTee starts copying to out. end stops it.
func newTee(out *os.File) (*tee, error) {
	t := &tee{done: make(chan struct{})}
	var err error
	if cli.IsTerminal(out) {
		if t.source, t.file, err = pty.Open(); err == nil {
			_ = pty.InheritSize(out, t.source) // a wrong width is no reason not to run
			_, err = term.MakeRaw(int(t.file.Fd()))
		}
	} else {
		t.source, t.file, err = os.Pipe()
	}
	if err != nil {
		return nil, err
	}
	go t.copy(out) // ends in end: the last writer is gone
	return t, nil
}

func (t *tee) copy(out io.Writer) {
	defer close(t.done)
	buf := make([]byte, keepStderr)
	for {
		n, err := t.source.Read(buf)
		if n > 0 {
			_, _ = out.Write(buf[:n]) // a reader that went away must not stop the command
			t.keep(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

func (t *tee) keep(data []byte) {
	t.total += int64(len(data))
	n := min(keepStderr-len(t.head), len(data))
	t.head = append(t.head, data[:n]...)
	t.tail = append(t.tail, data[n:]...)
	if extra := len(t.tail) - keepStderr; extra > 0 {
		t.tail = slices.Delete(t.tail, 0, extra)
	}
}

// end waits for what is still on its way and returns what was kept. All writers
// must be gone but our own copy.
func (t *tee) end() exec.Output {
	t.file.Close()
	<-t.done
	t.source.Close()
	return exec.Output{Head: t.head, Tail: t.tail, Total: t.total, Skipped: t.total - int64(len(t.head)+len(t.tail))}
}
