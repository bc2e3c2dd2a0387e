package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"codeagent/exec"

	"github.com/spf13/cobra"
)

func newDoctor(s stdio, f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine can enforce, by trying it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runDoctor(cmd.Context(), s, *f)
		},
	}
}

// proof is one attempt whose outcome shows whether a guarantee holds.
type proof struct {
	name string
	// must says what has to happen, for the reader.
	must string
	// argv is run in the sandbox; "" entries are none. check looks at the world afterwards.
	argv  []string
	check func(exec.Outcome) error
}

func runDoctor(ctx context.Context, s stdio, f flags) error {
	w := s.Out
	fmt.Fprintf(w, "codeagent %s on %s\n", version, runtime.GOOS+"/"+runtime.GOARCH)
	box, err := newBox(s, f, sandboxFlags{})
	if err != nil {
		return err
	}
	defer box.close()
	box.describe(w)

	enforcement := box.enforcement
	fmt.Fprintf(w, "\nsandbox  backend %s\n", enforcement.Backend)
	for _, l := range enforcement.Layers {
		fmt.Fprintf(w, "  %-8s %-9s %s\n", l.State, l.Name, l.Reason)
	}
	fmt.Fprintln(w, "\ntried just now")
	failed := box.prove(ctx, w)
	if len(enforcement.Weaknesses) > 0 {
		fmt.Fprintln(w, "\nnot enforced on this machine")
		for _, k := range enforcement.Weaknesses {
			fmt.Fprintf(w, "  %s: %s\n    why: %s\n", k.ID, k.What, k.Why)
			if k.Remedy != "" {
				fmt.Fprintf(w, "    what to do: %s\n", k.Remedy)
			}
		}
	}
	fmt.Fprintln(w)
	box.describeModel(ctx, w)
	describeTerminal(s, w)
	if failed > 0 {
		return &hintError{err: fmt.Errorf("%d of the guarantees tried did not hold", failed), code: exitFailed}
	}
	return nil
}

// prove runs each proof and prints what happened. It returns how many failed.
func (b *box) prove(ctx context.Context, w io.Writer) int {
	scratch, err := os.MkdirTemp("", "codeagent-doctor-")
	if err != nil {
		fmt.Fprintf(w, "  FAILED   %v\n", err)
		return 1
	}
	defer os.RemoveAll(scratch)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintf(w, "  FAILED   %v\n", err)
		return 1
	}
	defer listener.Close()
	// The same connection from here shows that a refusal is the sandbox's.
	if err := connect(listener.Addr().String()); err != nil || !accepted(listener) {
		fmt.Fprintf(w, "  FAILED   cannot reach a server of our own: %v\n", err)
		return 1
	}
	failed := 0
	for _, p := range proofs(b, scratch, listener) {
		outcome, err := b.runner.Run(ctx, b.policy, exec.Command{Argv: p.argv, Dir: b.workspace, Timeout: 10 * time.Second}, nil)
		if err == nil {
			err = p.check(outcome)
		}
		if err != nil {
			failed++
			fmt.Fprintf(w, "  FAILED   %-28s %s: %v\n", p.name, p.must, err)
			continue
		}
		fmt.Fprintf(w, "  holds    %-28s %s\n", p.name, p.must)
	}
	return failed
}

// proofs are the attempts: two that must fail, each next to what shows that the
// same attempt works when it is allowed.
func proofs(b *box, scratch string, listener net.Listener) []proof {
	outside := filepath.Join(scratch, "outside")
	inside := filepath.Join(b.policy.Temp, "doctor")
	sh := b.shell()
	return []proof{
		{"write in the temporary folder", "must work", []string{sh, "-c", `echo x > "$1"`, "sh", inside}, func(o exec.Outcome) error {
			defer os.Remove(inside)
			if _, err := os.Stat(inside); err != nil {
				return fmt.Errorf("%s was not written (exit %d: %s)", inside, o.Status.Exit, o.Output.Text())
			}
			return nil
		}},
		{"write outside", "must be refused", []string{sh, "-c", `echo x > "$1"`, "sh", outside}, func(o exec.Outcome) error {
			if _, err := os.Stat(outside); err == nil {
				return errors.New("the file was written")
			}
			if o.Status.Exit == 0 {
				return errors.New("the command reported success")
			}
			return nil
		}},
		{"connect to a local server", "must be refused", []string{selfPath(), connectArgument, listener.Addr().String()}, func(o exec.Outcome) error {
			if accepted(listener) {
				return errors.New("the connection arrived")
			}
			if o.Status.Exit == 0 {
				return errors.New("the command reported success")
			}
			return nil
		}},
	}
}

// connectArgument makes codeagent connect to an address and do nothing else:
// the attempt needs no program of the machine's.
const connectArgument = "__connect"

func connect(address string) error {
	conn, err := net.DialTimeout("tcp", address, 2*time.Second)
	if err != nil {
		return err
	}
	return conn.Close()
}

// selfPath is this program's file.
func selfPath() string {
	exe, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return exe
}

// accepted reports whether somebody connected; a completed connection waits in
// the listener's queue, so no time has to pass.
func accepted(l net.Listener) bool {
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return true
	}
	_ = tcp.SetDeadline(time.Now().Add(10 * time.Millisecond))
	conn, err := tcp.Accept()
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// describe says which folders and files are used.
func (b *box) describe(w io.Writer) {
	fmt.Fprintf(w, "workspace %s\nsettings  %s", b.workspace, b.paths.File)
	if _, err := os.Stat(b.paths.File); err != nil {
		fmt.Fprint(w, " (none yet)")
	}
	fmt.Fprintf(w, "\nstate     %s\npreset    %s (%s)\napproval  %s (%s)\nshell     %s\n", b.paths.State,
		b.cfg.Sandbox.Mode, b.cfg.Origin("sandbox.mode"), b.cfg.AskForApproval, b.cfg.Origin("ask_for_approval"), b.shell())
	if rg := b.program("rg"); rg != "" {
		fmt.Fprintf(w, "search    %s\n", rg)
	} else {
		fmt.Fprintln(w, "search    our own (ripgrep is not installed, or lies where commands may write)")
	}
	if b.cfg.ProjectFile != "" {
		fmt.Fprintf(w, "note      %s exists and is not read: settings of a project are not taken over\n", b.cfg.ProjectFile)
	}
}

// describeModel asks the provider for its models, which costs no tokens.
func (b *box) describeModel(ctx context.Context, w io.Writer) {
	provider, ok := b.cfg.Provider(b.s.env)
	if !ok {
		fmt.Fprintln(w, "model    none configured: set OPENAI_API_KEY or OPENAI_BASE_URL; until then the tour plays")
		return
	}
	client, err := b.client(provider)
	if err == nil {
		var served []string
		if served, err = client.Models(ctx); err == nil {
			fmt.Fprintf(w, "model    %s answers and serves %d models\n", provider.BaseURL, len(served))
			return
		}
	}
	fmt.Fprintf(w, "model    %s: %v\n", provider.BaseURL, err)
}

func describeTerminal(s stdio, w io.Writer) {
	if !s.interactive() {
		fmt.Fprintln(w, "terminal none here: codeagent needs one, codeagent exec does not")
		return
	}
	color := "colour"
	if s.env("NO_COLOR") != "" {
		color = "no colour (NO_COLOR)"
	}
	fmt.Fprintf(w, "terminal %s, %s\n", s.env("TERM"), color)
}
