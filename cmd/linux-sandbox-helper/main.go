// Command linux-sandbox-helper is the keeper: it restricts itself, starts one command
// and ends with it. codeagent starts it; see package linuxsandbox/keeper. By hand, with
// codeagent beside it: linux-sandbox-helper CWD POLICY-JSON -- CMD [ARG]...
package main

import (
	"os"

	"codeagent/linuxsandbox/keeper"
)

func main() { os.Exit(keeper.Main(os.Args)) }
