// Package learning is what `codeagent sandbox --learn` and `codeagent mcp learn` share: whether it is
// possible, the question before a program is let out of its sandbox, and the text of what it needs.
// What is refused nevertheless is decided below: the backend asks nobody about what is protected or
// closed to reading. Start at Ask.
package learning

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/hostfile"
	"codeagent/internal/visible"
	"codeagent/sandbox"
)

// Ask returns nil if the program's sandbox, of which e is enforced, can learn and the person lets the
// program out of it. flag names what asked for it, and unrefused what is not refused meanwhile; yes
// skips the question.
func Ask(ctx context.Context, s cli.Stdio, e sandbox.Enforcement, flag, unrefused string, argv []string, yes bool) error {
	if !slices.Contains(e.Active(), "notify") {
		return workspace.CannotConfine(errors.New(flag+": "+workspace.NoNotify), false)
	}
	fmt.Fprintf(s.Err, "codeagent: %s counts as running outside the sandbox: nothing is refused%s\nbut what is protected or closed to reading\n", flag, unrefused)
	if yes {
		return nil
	}
	if !CanAsk(s) {
		return cli.Usage(fmt.Errorf("%s asks before it starts the command, and there is no terminal to ask on", flag), "--yes starts it without the question")
	}
	yes, err := Yes(ctx, s, fmt.Sprintf("  $ %s\nRun it? [y/N] ", visible.Line(strings.Join(argv, " "))))
	if err == nil && !yes {
		err = cli.Hinted(cli.ExitRefused, errors.New("not run"))
	}
	return err
}

// CanAsk reports whether a person can be asked on the terminal.
func CanAsk(s cli.Stdio) bool { return cli.IsTerminal(s.In) && cli.IsTerminal(s.Err) }

// Yes asks a question on the terminal. A signal ends it.
func Yes(ctx context.Context, s cli.Stdio, question string) (bool, error) {
	answer, err := Answer(ctx, s, question)
	if err == io.EOF {
		err = nil // no answer is a no
	}
	return answer == "y" || answer == "yes", err
}

// Answer asks a question on the terminal, and returns the line in small letters; a closed terminal is an error. A signal ends it.
func Answer(ctx context.Context, s cli.Stdio, question string) (string, error) {
	fmt.Fprint(s.Err, question)
	return hostfile.Within(ctx, func() (string, error) { return readAnswer(s.In) })
}

// readAnswer reads one line, byte by byte: what follows belongs to the command.
func readAnswer(in io.Reader) (string, error) {
	line := make([]byte, 0, 8)
	for one := make([]byte, 1); len(line) < cap(line); {
		n, err := in.Read(one)
		if n == 1 && one[0] == '\n' {
			break
		}
		line = append(line, one[:n]...)
		if err != nil && len(line) == 0 {
			return "", err
		}
		if n == 0 || err != nil {
			break
		}
	}
	return strings.ToLower(strings.TrimSpace(string(line))), nil
}

// Needs is what a program needs beyond its sandbox.
type Needs struct {
	// Header says what the needs are those of, and Where what to do with TOML.
	Header, Where string
	// TOML are the settings; "" where there is nothing that settings allow.
	TOML string
	// Guessed are hosts whose port is a guess. Left are those that no setting opens, each with the
	// reason, and Stays what stays refused.
	Guessed, Left, Stays []string
	// All is false if there is more.
	All bool
}

// Write writes n as text that can be pasted into a settings file.
func (n Needs) Write(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "# %s\n", visible.Line(n.Header))
	switch {
	case n.TOML == "" && len(n.Left)+len(n.Stays) == 0:
		fmt.Fprintln(out, "# Nothing.")
	case n.TOML != "":
		for _, host := range n.Guessed {
			fmt.Fprintf(out, "# %s: the port is a guess, it was only looked up\n", visible.Line(host))
		}
		fmt.Fprintf(out, "# %s\n%s", n.Where, n.TOML)
	}
	for _, one := range n.Left {
		fmt.Fprintf(out, "# No setting opens %s\n", visible.Line(one))
	}
	for _, one := range n.Stays {
		fmt.Fprintf(out, "# Stays refused: %s\n", visible.Line(one))
	}
	if !n.All {
		fmt.Fprintln(out, "# There is more than this list can hold.")
	}
	return out.Flush()
}

// Stays names what was refused while a program learned.
func Stays(refused []sandbox.Denial) []string {
	var out []string
	for _, d := range refused {
		// Only for what is closed to reading, the output is the sole evidence.
		if one := string(d.Kind) + " " + d.Target; !d.Moot && (d.Evidence != sandbox.EvidenceOutput || d.Kind == sandbox.KindRead) && !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	return out
}
