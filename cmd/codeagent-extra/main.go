// Command codeagent-extra is the side program: it does what links much, so that codeagent itself starts fast.
// codeagent starts it, by workspace.Extra: codeagent-extra VERSION COMMAND [ARG]...
package main

import (
	"fmt"
	"os"

	"codeagent/backends/wasm/module"
	"codeagent/patterns/store"
)

// version is the git description of the build, set by the Makefile with -X.
var version = "dev"

// commands have the work. Each gets its arguments and returns the exit status.
var commands = map[string]func(args []string) int{
	"patterns": store.Main,
	"wasm":     module.Main,
}

func main() { os.Exit(run(os.Args[1:])) }

// wrongUse is the exit status of what codeagent of the same build never asks for.
const wrongUse = 125

func run(args []string) int {
	if len(args) < 2 {
		fmt.Println("codeagent-extra", version)
		return 0
	}
	if args[0] != version {
		fmt.Fprintf(os.Stderr, "codeagent-extra %s does not belong to codeagent %s: install both from one build (make install)\n", version, args[0])
		return wrongUse
	}
	command := commands[args[1]]
	if command == nil {
		fmt.Fprintf(os.Stderr, "codeagent-extra: unknown command %q\n", args[1])
		return wrongUse
	}
	return command(args[2:])
}
