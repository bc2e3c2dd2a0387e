//go:build linux

package spec

import (
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"
)

// ConsoleDev is where the command sees the user's terminal.
const ConsoleDev = "/dev/console"

// Mounts say what the keeper mounts in its mount namespace. All paths are canonical.
type Mounts struct {
	// Writable stay writable, at their own paths.
	Writable []string
	// Temp is the private folder that the command sees at each path of Private.
	Temp    string
	Private []string
	// Readable lie in a folder that is replaced, and are shown there all the same.
	Readable []string
	// Pins are folders bound to themselves, so that they cannot be renamed.
	Pins []string
	// Protected become read-only; Granted lie in them and are writable again.
	Protected []string
	Granted   []string
	// Hidden can no longer be opened.
	Hidden []string
	// Memory asks for a writable /dev/shm.
	Memory bool
	// HostProc keeps the host's /proc: the keeper has no PID namespace.
	HostProc bool
	// Devices asks for a /dev with nothing of the machine's but what is Readable.
	Devices bool
	// Terminals asks for terminals of the command's own instead of the machine's.
	Terminals bool
	// Console is the user's terminal, if a foreground command shares it: the command
	// sees it as ConsoleDev.
	Console []string
}

// Replaced is the innermost folder around path that shows other content to the
// command than to the host, or "".
func (m *Mounts) Replaced(path string) string {
	inside := ""
	note := func(dir string) {
		if dir != path && sandbox.Covers(dir, path) && len(dir) > len(inside) {
			inside = dir
		}
	}
	for _, dir := range m.Private {
		note(dir)
	}
	if m.Memory {
		note(kernel.ShmDir)
	}
	if m.Devices {
		note(kernel.DevDir)
	}
	return inside
}

// OwnFolders are writable by every command with mounts, without any right from the
// policy: no other process sees what is in them.
func (m *Mounts) OwnFolders() []string {
	var out []string
	if m.Memory {
		out = append(out, kernel.ShmDir)
	}
	if m.Terminals {
		out = append(out, kernel.PtsDir)
	}
	return out
}
