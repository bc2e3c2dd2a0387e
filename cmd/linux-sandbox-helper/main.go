// Command linux-sandbox-helper is the keeper: it restricts itself, starts one command
// and ends with it. codeagent starts it; see package linuxsandbox/keeper.
package main

import (
	"os"

	"codeagent/linuxsandbox/keeper"
)

func main() { os.Exit(keeper.Main(os.Args)) }
