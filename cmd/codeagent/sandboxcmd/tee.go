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

// keepStderr is how many bytes of the beginning and of the end of a command's stderr are kept
// for the verdict, each.
const keepStderr = 32 << 10

// tee copies a command's stderr to ours and keeps it, since the verdict of `codeagent
// sandbox` needs it. If ours is a terminal, the command gets a raw terminal of its own, so
// that it behaves as it would without tee.
type tee struct {
	// file is the command's stderr.
	file       *os.File
	source     *os.File
	done       chan struct{}
	head, tail []byte
	total      int64
}

// newTee starts copying to out; end stops it.
func newTee(out *os.File) (*tee, error) {
	t := &tee{done: make(chan struct{})}
	var err error
	if cli.IsTerminal(out) {
		if t.source, t.file, err = pty.Open(); err == nil {
			_ = pty.InheritSize(out, t.source) // a wrong width does not matter much
			_, err = term.MakeRaw(int(t.file.Fd()))
		}
	} else {
		t.source, t.file, err = os.Pipe()
	}
	if err != nil {
		return nil, err
	}
	go t.copy(out) // ends in end, after the last writer
	return t, nil
}

func (t *tee) copy(out io.Writer) {
	defer close(t.done)
	buf := make([]byte, keepStderr)
	for {
		n, err := t.source.Read(buf)
		if n > 0 {
			_, _ = out.Write(buf[:n]) // a closed stderr must not stop the command
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

// end waits for the rest of the output and returns what was kept. All writers except our own
// copy must be gone.
func (t *tee) end() exec.Output {
	t.file.Close()
	<-t.done
	t.source.Close()
	return exec.Output{Head: t.head, Tail: t.tail, Total: t.total, Skipped: t.total - int64(len(t.head)+len(t.tail))}
}
