//go:build linux

package kernel

import (
	"fmt"
	"slices"
	"strings"
)

// Mount is one line of a table of mounts (proc_pid_mountinfo(5)).
type Mount struct {
	Path     string
	Writable bool
}

// Mounts reads such a table. Of several mounts at one path the last is on top.
func Mounts(table string) (out []Mount, err error) {
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < 6 {
			return nil, fmt.Errorf("mountinfo: unexpected line %q", line)
		}
		out = append(out, Mount{unescaped.Replace(fields[4]), slices.Contains(strings.Split(fields[5], ","), "rw")})
	}
	return out, nil
}

// unescaped undoes what the kernel does to the characters that separate fields.
var unescaped = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
