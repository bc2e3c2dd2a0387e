//go:build linux

package linuxsandbox

import (
	"testing"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/spec"
)

// TestRulesOf: which rules a command has follows from what its keeper enforces.
func TestRulesOf(t *testing.T) {
	for _, row := range []struct {
		name                              string
		spec                              spec.Spec
		files, network, caller, processes bool
	}{
		{"no broker for files", spec.Spec{PathSockets: true}, false, false, true, false},
		{"no mounts", spec.Spec{Ask: true}, true, false, true, false},
		{"the host's network", spec.Spec{Ask: true, Network: true}, true, false, true, false},
		{"a network of its own", spec.Spec{Ask: true, Network: true, HostNet: 1}, true, true, true, false},
		{"a network of its own that is shut", spec.Spec{Ask: true, HostNet: 1}, true, false, true, false},
		{"mounts", spec.Spec{Ask: true, Mounts: &spec.Mounts{Terminals: true, Writable: []string{"/tmp/ws", "/dev/shm/ws"}}}, true, false, true, true},
		{"the host's terminal among its own", spec.Spec{Ask: true, Mounts: &spec.Mounts{Terminals: true, Readable: []string{"/dev/pts/3"}}}, false, false, true, true},
		{"the host's terminals", spec.Spec{Ask: true, Mounts: &spec.Mounts{Readable: []string{"/dev/pts/3"}}}, true, false, true, true},
		{"the host's /proc", spec.Spec{Ask: true, Mounts: &spec.Mounts{HostProc: true}}, true, false, true, false},
	} {
		r := rulesOf(&row.spec)
		for _, is := range []struct {
			rule notify.Rule
			want bool
		}{{notify.ByLandlock, row.files}, {notify.ByNetwork, row.network}, {notify.ByCaller, row.caller}, {notify.ByProcesses, row.processes}} {
			if a := r.Proceed(is.rule); a.Proceeds() != is.want || is.want == (a.Errno != 0) {
				t.Errorf("%s: %+v, want it to proceed: %v", row.name, a, is.want)
			}
		}
	}
}
