package main

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

// TestClosedStdoutIsAnError: with a closed stdout the answer is lost. /dev/null is not an error.
func TestClosedStdoutIsAnError(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		for _, c := range []struct {
			script string
			code   int
			stderr string
		}{
			{"codeagent version >&-", 1, "bad file descriptor"},
			{"codeagent exec </dev/null >&-", 1, "write the answer: "},
			{"codeagent exec --json </dev/null >&-", 1, "write the answer: "},
			{"codeagent exec </dev/null >/dev/null", 3, ""},
			{"codeagent version >/dev/null", 0, ""},
			{"codeagent sandbox -- sh -c 'echo x || exit 9' >&-", 9, ""},
			{"codeagent sandbox -- sh -c 'echo x || exit 9' >/dev/null", 0, ""},
		} {
			cmd := u.codeagent()
			cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", "PATH=" + u.bin + ":$PATH; " + c.script}
			var words strings.Builder
			cmd.Stdout, cmd.Stderr = nil, &words
			err := cmd.Run()
			code := 0
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
				code = exit.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			if code != c.code || !strings.Contains(words.String(), c.stderr) {
				t.Errorf("%s: status %d, want %d and %q:\n%s", c.script, code, c.code, c.stderr, words.String())
			}
		}
	})
}

// TestOpenFilesStay: a confined command has the limit of open files with which codeagent was started,
// and not the one that Go's runtime raises it to.
func TestOpenFilesStay(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		cmd := u.codeagent()
		cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", "PATH=" + u.bin + ":$PATH; ulimit -Sn 300; codeagent sandbox -- sh -c 'ulimit -Sn'"}
		if out, err := cmd.Output(); err != nil || string(out) != "300\n" {
			t.Errorf("%q, %v", out, err)
		}
	})
}
