package hostfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"codeagent/internal/visible"
)

// Program finds name in the folders of search, a PATH. It returns the first match that no
// command can have placed: the program, every link and folder on the way to it, and the
// interpreter in its first line must be outside ground. An absolute name is only checked.
// The result is the name as found, not its target, because programs like busybox act by
// their name. No command can change a component of it, so the program that runs is the one
// that was checked.
func (g Ground) Program(search, name string) (string, error) {
	if filepath.IsAbs(name) {
		return name, g.runnable(name, 0)
	}
	if name == "" || strings.Contains(name, "/") {
		return "", fmt.Errorf("%q: want the name of a program in PATH, or its absolute path", name)
	}
	err := fmt.Errorf("%q is not installed", name)
	for _, dir := range filepath.SplitList(search) {
		if !filepath.IsAbs(dir) {
			continue // never run a program from codeagent's working directory
		}
		file := filepath.Join(dir, name)
		unfit := g.runnable(file, 0)
		if unfit == nil {
			return file, nil
		}
		var ground *GroundError
		if errors.As(unfit, &ground) {
			err = unfit
		}
	}
	return "", err
}

// scripts is how many nested interpreters the kernel accepts.
const scripts = 5

func (g Ground) runnable(file string, depth int) error {
	real, err := g.Private(file)
	if err != nil {
		return err
	}
	f, err := Open(real)
	if errors.Is(err, fs.ErrPermission) { // executable but not readable, so it is not a script
		info, err := Lstat(real)
		if err == nil && (!info.Mode().IsRegular() || info.Mode()&0o111 == 0) {
			err = failed("run", file, fs.ErrPermission)
		}
		return err
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return err
	} else if info.Mode()&0o111 == 0 {
		return failed("run", file, fs.ErrPermission)
	}
	head := make([]byte, 256) // BINPRM_BUF_SIZE
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return err
	}
	line, script := bytes.CutPrefix(head[:n], []byte("#!"))
	if !script {
		return nil
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	return g.interpreters(strings.Fields(string(line)), file, depth)
}

// interpreters checks the first line of a script: the interpreter and its arguments.
func (g Ground) interpreters(words []string, file string, depth int) error {
	if len(words) == 0 || !filepath.IsAbs(words[0]) || depth >= scripts {
		return failed("run", file, errors.New("its first line names no interpreter by an absolute path"))
	}
	if err := g.runnable(words[0], depth+1); err != nil {
		return failed("run", file, err)
	}
	return g.Arguments(words[1:])
}

// Arguments fails if an argument of a program names something on ground, such as a script
// to run.
func (g Ground) Arguments(args []string) error {
	for _, a := range args {
		if _, value, ok := strings.Cut(a, "="); ok && strings.HasPrefix(a, "-") {
			a = value
		}
		if !filepath.IsAbs(a) {
			continue
		}
		var ground *GroundError
		if _, err := g.Private(a); errors.As(err, &ground) {
			return err
		}
	}
	return nil
}

// Environ returns an environment for a program outside the sandbox: without values that lead
// programs, libraries or modules to ground. From a list (PATH) it removes relative elements
// and those on ground; a variable with no elements left is removed.
func (g Ground) Environ(env []string) []string {
	var out []string
	for _, kv := range env {
		name, value, ok := strings.Cut(kv, "=")
		if !ok {
			continue
		}
		if name == "PATH" || g.leads(value) && name != "HOME" { // HOME is on ground only if the user allowed that
			var kept []string
			for _, e := range filepath.SplitList(value) {
				if !g.leads(e) && (name != "PATH" || filepath.IsAbs(e)) {
					kept = append(kept, e)
				}
			}
			if value = strings.Join(kept, ":"); value == "" {
				continue
			}
		}
		out = append(out, name+"="+value)
	}
	return out
}

// leads reports whether text names something on ground, directly or through a link.
func (g Ground) leads(text string) bool {
	for _, r := range g.roots {
		for rest := text; ; {
			_, after, found := strings.Cut(rest, r)
			if !found {
				break
			}
			if after == "" || strings.ContainsAny(after[:1], "/:; ,\"'") {
				return true
			}
			rest = after
		}
	}
	if !filepath.IsAbs(text) {
		return false
	}
	var ground *GroundError
	_, err := g.Private(text)
	return errors.As(err, &ground)
}

// Command returns a command outside the sandbox, run in / with an environment that does not
// lead to ground. It checks the program right before the start, and not earlier.
func (g Ground) Command(ctx context.Context, env []string, name string, args ...string) (*exec.Cmd, error) {
	file, err := g.Program(variable(env, "PATH"), name)
	if err == nil {
		err = g.Arguments(args)
	}
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, file, args...)
	cmd.Env, cmd.Dir = g.Environ(env), "/"
	return cmd, nil
}

// variable returns the last value of a variable, as in the C library.
func variable(env []string, name string) string {
	value := ""
	for _, kv := range env {
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			value = v
		}
	}
	return value
}

// ErrTooMuch is the error for a program that prints more than its caller takes.
var ErrTooMuch = errors.New("it is too large")

// complaintMost is how many bytes of a program's error output an error quotes.
const complaintMost = 200

// Output runs a command of Ground.Command and returns its output, at most most bytes. Errors
// call the command name. The command's context bounds its time.
func Output(cmd *exec.Cmd, name string, most int) ([]byte, error) {
	out, problem := headBuffer{most: most}, headBuffer{most: complaintMost}
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

// headBuffer keeps the first bytes that are written to it and drops the rest. Its buffer is
// not embedded: io.Copy would use that one's ReadFrom, which keeps everything.
type headBuffer struct {
	kept bytes.Buffer
	most int
	full bool
}

func (b *headBuffer) Write(p []byte) (int, error) {
	room := b.most - b.kept.Len()
	if len(p) > room {
		b.full = true
		b.kept.Write(p[:room])
		return len(p), nil
	}
	return b.kept.Write(p)
}
