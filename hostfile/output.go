package hostfile

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"codeagent/internal/visible"
)

// ErrTooMuch is the error for a program that prints more than its caller takes.
var ErrTooMuch = errors.New("it is too large")

// complaintMost is how many bytes of a program's error output an error quotes.
const complaintMost = 200

// Output runs a command of Ground.Command and returns its output, at most most bytes. Errors
// call the command name. The command's context bounds its time.
func Output(cmd *exec.Cmd, name string, most int) ([]byte, error) {
	out, problem := bounded{most: most}, bounded{most: complaintMost}
	cmd.Stdout, cmd.Stderr = &out, &problem
	cmd.WaitDelay = time.Second // its children may keep the pipe open
	if err := cmd.Run(); err != nil {
		name = visible.Line(name)
		said := visible.Line(strings.TrimSpace(strings.ToValidUTF8(problem.kept.String(), "")))
		if said == "" {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return nil, fmt.Errorf("%s: %w: %s", name, err, said)
	}
	if out.full {
		return nil, ErrTooMuch
	}
	return out.kept.Bytes(), nil
}

// bounded keeps the first bytes that are written to it and drops the rest. Its buffer is
// not embedded: io.Copy would use that one's ReadFrom, which keeps everything.
type bounded struct {
	kept bytes.Buffer
	most int
	full bool
}

func (b *bounded) Write(p []byte) (int, error) {
	room := b.most - b.kept.Len()
	if len(p) > room {
		b.full = true
		b.kept.Write(p[:room])
		return len(p), nil
	}
	return b.kept.Write(p)
}
