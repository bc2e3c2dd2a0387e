// Command codeagent is a coding agent for the terminal whose commands run in a sandbox.
// Package main is wiring: it declares the commands, joins their packages, watches for
// signals and converts errors to exit statuses; it contains no policy. Read root.go first:
// each command is a package beside it, and conversation joins the agent to the rooms.
package main

import (
	"os"
	"path/filepath"

	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/doctor"
	"codeagent/internal/environ"
	"codeagent/internal/fileworker"
	"codeagent/linuxsandbox"
	"codeagent/seatbelt"
)

// version is the git description of the build, set by the Makefile with -X.
var version = "dev"

// helperSum is the SHA-256 of the sandbox helper built beside this program, set by the Makefile with -X.
// It is empty after a plain `go build`; then any helper beside it is accepted.
var helperSum string

func main() {
	// If there is no helper beside it, codeagent runs itself under the helper's name.
	if filepath.Base(os.Args[0]) == linuxsandbox.HelperName {
		os.Exit(linuxsandbox.HelperMain(os.Args))
	}
	// Backends without a helper start the file worker this way.
	if len(os.Args) == 2 && os.Args[1] == seatbelt.FileWorkerArg {
		os.Exit(serveFiles())
	}
	if len(os.Args) == 4 && os.Args[1] == doctor.TryArgument {
		os.Exit(doctor.ServeTry(os.Args[2], os.Args[3]))
	}
	if err := keepClosed(); err != nil {
		os.Stderr.WriteString("codeagent: keep stdout closed: " + err.Error() + "\n")
		os.Exit(1)
	}
	os.Exit(run(os.Args[1:], cli.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: environ.Started}, os.Exit))
}

func serveFiles() int {
	if err := fileworker.Serve(os.Stdin, os.Stdout); err != nil {
		os.Stderr.WriteString("file worker: " + err.Error() + "\n")
		return 1
	}
	return 0
}
