package mcpcmd

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"codeagent/cmd/codeagent/cli"
	"codeagent/exec"
	"codeagent/internal/visible"
	"codeagent/mcp/serve"
)

// instructions tell the client's model what the tools have in common.
const instructions = "codeagent runs commands and edits files in the user's workspace, in a sandbox of the operating system. " +
	"What the sandbox refuses is reported with each result, by path and host, with the permission that was missing. undo takes changes back."

// serveStdio serves one client on stdin and stdout until stdin ends or a signal comes.
func serveStdio(ctx context.Context, s cli.Stdio, f cli.Flags) error {
	if cli.IsTerminal(s.In) {
		return cli.Usage(errTerminal, `name it in the settings of the client: { "command": "codeagent", "args": ["mcp"] }`, "codeagent help mcp-server says more")
	}
	// If the client goes away, codeagent ends its commands first. Notify and not Ignore: every
	// command would inherit an ignored signal.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	list, err := offered()
	if err != nil {
		return err
	}
	in, err := inputsOf(list)
	if err != nil {
		return err
	}
	h := &host{ctx: ctx, stdio: s, inputs: in, flags: f, talks: map[string]*talk{}, slots: make(chan struct{}, exec.AtOnce(mostAtOnce))}
	defer h.close()
	return serve.Run(ctx, s.In, s.Out, serve.Options{
		Name: "codeagent", Title: "codeagent", Version: visible.Line(f.Process.Version), Instructions: instructions, Tools: list, Host: h,
	})
}
