//go:build linux

package linuxsandbox

import (
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// sweeping is held by who collects orphans: all commands of this process have the
// same ones.
var sweeping sync.Mutex

// sweepAfter ends what a keeper left behind that did not end by its own will.
// The command itself died with the keeper's thread; what it had started came to
// codeagent, the next subreaper. Orphans are told from codeagent's other
// children by what no other child has: more seccomp filters than codeagent
// itself, no_new_privs, and the keeper's bounding set.
func (p *process) sweepAfter(clean bool) {
	if clean {
		return
	}
	sweeping.Lock()
	defer sweeping.Unlock()
	for {
		own, dead := confinement(os.Getpid()), 0
		found := sweep(func(table []proc) []proc {
			// A tree that forks on would fill the process table with its dead.
			dead += reapOrphans(table, own)
			return orphans(table, os.Getpid(), own)
		})
		// A process that forked and ended while the table was read may have a child
		// that is not in it. It itself is, as long as nobody but this thread collects
		// the dead: only who sees neither living nor dead is done.
		if found+dead == 0 {
			return
		}
		pause()
	}
}

// orphans picks the confined children of codeagent and all below them.
func orphans(table []proc, self int, own marks) []proc {
	var out []proc
	roots := map[int]bool{}
	for _, p := range table {
		if p.ppid == self && p.state != 'Z' && p.state != 'X' && confinement(p.pid).orphanOf(own) {
			roots[p.pid] = true
			out = append(out, p)
		}
	}
	return append(out, below(table, roots)...)
}

// reapOrphans collects the ones that have ended and reports how many they were.
// Only pids that are known to be orphans are waited for: any other child is
// somebody else's to collect.
func reapOrphans(table []proc, own marks) (dead int) {
	for _, p := range table {
		if p.ppid == os.Getpid() && p.state == 'Z' && confinement(p.pid).orphanOf(own) {
			_, _ = unix.Wait4(p.pid, nil, unix.WNOHANG, nil)
			dead++
		}
	}
	return dead
}

// marks are what a process cannot take off again.
type marks struct {
	noNewPrivs bool
	filters    int
	// bounded: the capability bounding set is empty but for file rights, or the
	// user could not change it.
	bounding uint64
}

func confinement(pid int) marks {
	data, err := readSmall("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return marks{}
	}
	m := marks{noNewPrivs: statusField(data, "NoNewPrivs:") == "1"}
	m.filters, _ = strconv.Atoi(statusField(data, "Seccomp_filters:"))
	m.bounding, _ = strconv.ParseUint(strings.TrimSpace(statusField(data, "CapBnd:")), 16, 64)
	return m
}

func (m marks) orphanOf(own marks) bool {
	return m.noNewPrivs && m.filters > own.filters && (m.bounding&^fileCaps == 0 || m.bounding == own.bounding)
}
