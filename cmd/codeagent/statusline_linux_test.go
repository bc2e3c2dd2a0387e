package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/internal/golden"
	"codeagent/internal/scripted"
)

// The person's status command runs in the sandbox, and the footer shows its first line.
func TestStatusCommand(t *testing.T) {
	t.Parallel()
	u := newUser(t, "self", -1)
	begin := func(t *testing.T, command string) *golden.Terminal {
		cmd := u.codeagent("--model", "test", "-c", "tui.status_command="+strQuote(command), "-c", `models."test".price={input = "1000000"}`)
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+serve(t, scripted.Reply{Text: "hello"}).URL, "OPENAI_API_KEY=test-key-value")
		return golden.Start(t, cmd, 120, 30)
	}
	t.Run("its line is shown, escaped", func(t *testing.T) {
		term := begin(t, `printf 'at %s \033]0;x\007 key:%s.\nsecond' "$(basename "$CODEAGENT_FOLDER") $CODEAGENT_MODEL" "$OPENAI_API_KEY"`)
		term.WaitFor("at work test ")
		term.WaitFor("key:.")
		term.WaitFor("workspace-write · accept edits")
		if strings.Contains(term.Raw(), "\x1b]0;x") {
			t.Error("its sequence reached the terminal")
		}
		if s := term.Screen(); strings.Contains(s, "second") {
			t.Errorf("more than its first line:\n%s", s)
		}
	})
	t.Run("it writes nothing", func(t *testing.T) {
		planted := filepath.Join(u.work, "planted")
		term := begin(t, `touch `+planted+` ; touch $HOME/planted; echo it ran`)
		term.WaitFor("it ran")
		for _, file := range []string{planted, filepath.Join(u.home, "planted")} {
			if _, err := os.Stat(file); err == nil {
				t.Errorf("%s was written", file)
			}
		}
	})
	t.Run("the cost follows", func(t *testing.T) {
		term := begin(t, `echo "cost:$CODEAGENT_COST in:$CODEAGENT_INPUT_TOKENS"`)
		term.WaitFor("cost: in:0")
		term.Write("hello\r")
		term.WaitGone("cost: in:0")
	})
	t.Run("one that fails or hangs leaves the usual footer", func(t *testing.T) {
		for _, command := range []string{"echo never; exit 1", "echo never; sleep 1000", "yes never | head -c 5000000; exit 3"} {
			term := begin(t, command)
			term.WaitFor("work · workspace-write")
			term.Write("hello\r")
			term.WaitFor("hello")
			if s := term.Screen(); strings.Contains(s, "never") {
				t.Errorf("%s: its line is shown:\n%s", command, s)
			}
			term.Kill()
		}
	})
}

// strQuote writes a TOML string.
func strQuote(s string) string { return "'''" + s + "'''" }
