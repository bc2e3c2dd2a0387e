package seatbelt

import (
	"fmt"
	"regexp"
)

// terminalName is what macOS calls the far end of a pseudo terminal. It can stand
// in a profile as it is.
var terminalName = regexp.MustCompile(`^/dev/ttys[0-9]+$`)

// terminalRules open the terminal that codeagent has made for a command, by its
// name and as the command's own. No other is opened: without a terminal of its own
// a command has no /dev/tty.
func terminalRules(name string) (string, error) {
	if !terminalName.MatchString(name) {
		return "", fmt.Errorf("%q is not a terminal", name)
	}
	return fmt.Sprintf("(allow file-read* file-write-data file-ioctl\n  (require-all (vnode-type CHARACTER-DEVICE) (require-any (literal %q) (literal \"/dev/tty\"))))\n", name), nil
}
