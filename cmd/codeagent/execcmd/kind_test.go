package execcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"codeagent/agent"
	"codeagent/cmd/codeagent/cli"
	"codeagent/headless"
	"codeagent/model"
	"codeagent/sandbox"
)

func TestKindOf(t *testing.T) {
	provider := func(k model.ErrorKind) error { return fmt.Errorf("ask: %w", &model.Error{Kind: k}) }
	for _, c := range []struct {
		err  error
		want headless.ErrorKind
	}{
		{provider(model.SignIn), headless.KindSignIn},
		{cli.Hinted(cli.ExitSignIn, errors.New("no model")), headless.KindSignIn},
		{provider(model.RateLimited), headless.KindRateLimit},
		{provider(model.NoQuota), headless.KindQuota},
		{provider(model.Transport), headless.KindUnreachable},
		{provider(model.ServerFault), headless.KindProvider},
		{provider(model.BadRequest), headless.KindProvider},
		{provider(model.ContextFull), headless.KindContext},
		{fmt.Errorf("%w: %w", agent.ErrTooLong, provider(model.BadRequest)), headless.KindContext},
		{agent.ErrCutOff, headless.KindAnswer},
		{cli.Hinted(cli.ExitFailed, fmt.Errorf("%w (7)", agent.ErrOutOfRequests)), headless.KindLimit},
		{errors.Join(cli.ErrTimeLimit, context.DeadlineExceeded), headless.KindTimeout},
		{&cli.SignalError{Signal: syscall.SIGINT}, headless.KindInterrupted},
		{errors.Join(&cli.SignalError{Signal: syscall.SIGTERM}, &sandbox.LeftError{}), headless.KindInterrupted},
		{cli.Hinted(cli.ExitRefused, agent.ErrRefused), headless.KindRefused},
		{cli.Usage(errors.New("wrong")), headless.KindUsage},
		{cli.Hinted(sandbox.ExitCannotConfine, &sandbox.StartError{Code: sandbox.ExitCannotConfine, Err: errors.New("no")}), headless.KindSandbox},
		{errors.Join(nil, lostAnswer{syscall.ENOSPC}), headless.KindOutput},
		{fmt.Errorf("%w: index out of range", errBug), headless.KindInternal},
		{syscall.ENOSPC, headless.KindOther},
	} {
		if got := kindOf(c.err); got != c.want {
			t.Errorf("%v: %s, want %s", c.err, got, c.want)
		}
	}
}

// TestKindsAreListed: the constants, the schema and the page name the same kinds.
func TestKindsAreListed(t *testing.T) {
	read := func(name string) string {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	var schema struct {
		Defs struct {
			Kind struct {
				Enum []string `json:"enum"`
			} `json:"kind"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(read("../../../headless/schema/lines.json")), &schema); err != nil {
		t.Fatal(err)
	}
	var declared []string
	for _, m := range regexp.MustCompile(`ErrorKind = "(\w+)"`).FindAllStringSubmatch(read("../../../headless/kind.go"), -1) {
		declared = append(declared, m[1])
	}
	if !slices.Equal(declared, schema.Defs.Kind.Enum) || len(declared) < 10 {
		t.Errorf("declared: %q, in the schema: %q", declared, schema.Defs.Kind.Enum)
	}
	page := read("../../../docs/exec.md")
	for _, kind := range declared {
		if !strings.Contains(page, "`"+kind+"`") {
			t.Errorf("docs/exec.md does not name %s", kind)
		}
	}
}

// TestEveryEndHasAKind: no exported error of agent that ends a turn is left out.
func TestEveryEndHasAKind(t *testing.T) {
	files, err := os.ReadDir("../../../agent")
	if err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile("kind.go")
	if err != nil {
		t.Fatal(err)
	}
	notOfTurns := []string{"ErrBusy", "ErrNothing"} // of a second turn, of /compact
	found := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		text, err := os.ReadFile("../../../agent/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^(?:var|\t)\s*(Err\w+)\s*= errors\.New`).FindAllStringSubmatch(string(text), -1) {
			if found++; !slices.Contains(notOfTurns, m[1]) && !strings.Contains(string(table), "{agent."+m[1]+",") {
				t.Errorf("agent.%s has no kind", m[1])
			}
		}
	}
	if found < 15 {
		t.Errorf("only %d errors", found)
	}
}
