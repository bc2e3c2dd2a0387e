package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"codeagent/mcp/signin/signintest"

	"github.com/rogpeppe/go-internal/testscript"
)

// signins are the servers of signin, by their URLs.
var signins sync.Map

// scriptSignIn starts an MCP server that wants a sign-in, with its URL in a variable: signin NAME.
// "signin NAME revoke" makes its tokens invalid.
func scriptSignIn(ts *testscript.TestScript, neg bool, args []string) {
	switch {
	case !neg && len(args) == 1:
		s := signintest.New(scriptT{ts})
		signins.Store(s.URL, s)
		ts.Setenv(args[0], s.URL)
	case !neg && len(args) == 2 && args[1] == "revoke":
		s, _ := signins.Load(ts.Getenv(args[0]))
		s.(*signintest.Servers).Revoke(true)
	default:
		ts.Fatalf("usage: signin NAME [revoke]")
	}
}

type scriptT struct{ ts *testscript.TestScript }

func (t scriptT) Errorf(format string, args ...any) { t.ts.Logf(format, args...) }
func (t scriptT) Cleanup(f func())                  { t.ts.Defer(f) }

// scriptLogin runs codeagent mcp login, and opens the page that it prints as a browser whose person
// says yes: login URL ARG...
func scriptLogin(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: login URL ARG...")
	}
	s, _ := signins.Load(args[0])
	cmd := exec.Command(filepath.Join(ts.Getenv("BIN"), "codeagent"), append([]string{"mcp", "login"}, args[1:]...)...)
	cmd.Dir, cmd.Stderr = ts.MkAbs("."), os.Stderr
	for _, name := range []string{"HOME", "PATH", "TMPDIR", "LANG"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if strings.HasPrefix(lines.Text(), "http") {
			s.(*signintest.Servers).Browse(lines.Text())
		}
	}
	ts.Check(cmd.Wait())
	ts.Check(os.WriteFile(ts.MkAbs("login.out"), []byte(said.String()), 0o600))
}
