// Command linux-sandbox-helper is the keeper: it restricts itself, starts one
// command and outlives it by nothing. codeagent starts it; see package
// linuxsandbox. By hand: linux-sandbox-helper CWD POLICY-JSON -- CMD [ARG]...
package main

import (
	"os"

	"codeagent/linuxsandbox"
)

func main() { os.Exit(linuxsandbox.HelperMain(os.Args)) }
