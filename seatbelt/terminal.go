package seatbelt

import (
	"fmt"
	"regexp"
)

// terminalName matches the path of the far end of a pseudo-terminal on macOS. Such a path needs no
// escaping in a profile.
var terminalName = regexp.MustCompile(`^/dev/ttys[0-9]+$`)

// terminalRules open the terminal that codeagent created for a command: its path, and /dev/tty.
// They open no other terminal, and a command without its own has no /dev/tty.
func terminalRules(name string) (string, error) {
	if !terminalName.MatchString(name) {
		return "", fmt.Errorf("%q is not a terminal", name)
	}
	return fmt.Sprintf("(allow file-read* file-write-data file-ioctl\n  (require-all (vnode-type CHARACTER-DEVICE) (require-any (literal %q) (literal \"/dev/tty\"))))\n", name), nil
}
