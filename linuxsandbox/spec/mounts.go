//go:build linux

package spec

import (
	"slices"

	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"
)

// ConsoleDev is the path at which the command sees the user's terminal.
const ConsoleDev = "/dev/console"

// Mounts are what the keeper mounts in its mount namespace. All paths are canonical.
type Mounts struct {
	// Writable paths stay writable.
	Writable []string
	// Overlays are write roots that are folders, and that the command sees with changes of its own.
	Overlays []Overlay
	// Base: the keeper mounts Overlays alone, in a namespace that later keepers copy, and then ends.
	Base bool
	// Temp is the private folder that the command sees at each path of Private.
	Temp    string
	Private []string
	// Readable paths lie in a replaced folder, and are shown there nevertheless.
	Readable []string
	// Named are files and folders of the host in folders of Private that the command names. They may
	// have changed since codeagent looked: what is no longer a file or folder is not shown.
	Named []string
	// Pins are folders bound to themselves, so that they cannot be renamed.
	Pins []string
	// Protected paths become read-only; Granted paths lie in them and are writable again.
	Protected []string
	Granted   []string
	// Hidden paths can no longer be opened.
	Hidden []string
	// Memory asks for a writable /dev/shm.
	Memory bool
	// HostProc retains the host's /proc: the keeper has no PID namespace.
	HostProc bool
	// Devices asks for a /dev with only what Readable names of the machine's.
	Devices bool
	// Terminals asks for the command's own terminals instead of the machine's.
	Terminals bool
	// Console is the user's terminal, if a foreground command shares it. The command sees it as
	// ConsoleDev.
	Console []string
}

// Overlay is a mount of the kernel's overlayfs at the path of its lower layer; without Work, of Upper alone.
type Overlay struct{ Path, Upper, Work string }

// Replaced is the innermost folder around path whose content differs for the command and the host,
// or "".
func (m *Mounts) Replaced(path string) string {
	dirs := slices.Clone(m.Private)
	if m.Memory {
		dirs = append(dirs, kernel.ShmDir)
	}
	if m.Devices {
		dirs = append(dirs, kernel.DevDir)
	}
	inside := ""
	for _, dir := range dirs {
		if dir != path && sandbox.Covers(dir, path) && len(dir) > len(inside) {
			inside = dir
		}
	}
	return inside
}

// OwnFolders are folders that every command with mounts may write without a right from the policy:
// no other process sees what is in them.
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
