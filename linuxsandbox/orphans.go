//go:build linux

package linuxsandbox

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// keepers are those of this process that were not collected, for EndKeepers.
var keepers struct {
	sync.Mutex
	live map[*keeperProcess]bool
}

func (k *keeperProcess) register() *keeperProcess {
	keepers.Lock()
	defer keepers.Unlock()
	if keepers.live == nil {
		keepers.live = map[*keeperProcess]bool{}
	}
	keepers.live[k] = true
	return k
}

func (k *keeperProcess) unregister() {
	keepers.Lock()
	defer keepers.Unlock()
	delete(keepers.live, k)
}

// EndKeepers kills the keepers of all commands, and what they leave behind, for a
// process that ends without waiting for its commands. It returns what cannot be
// killed, as LeftError has it.
func EndKeepers() []string {
	keepers.Lock()
	live := slices.Collect(maps.Keys(keepers.live))
	keepers.Unlock()
	for _, k := range live {
		k.kill()
	}
	var left []string
	for _, k := range live {
		if endsWithin(k.pid, killPatience) {
			continue
		}
		var e *sandbox.LeftError
		if p := (&process{keeper: k}); errors.As(p.leftovers(false, false), &e) {
			left = append(left, e.Processes...)
		}
	}
	return append(left, named(sweepAfter())...)
}

// leftovers ends what a keeper left behind that was killed (not clean). The error names
// the processes that cannot be ended. over: the keeper itself has ended.
func (p *process) leftovers(clean, over bool) error {
	var left []kernel.Process
	switch {
	case !over: // in its namespace nothing can be swept, and nothing escapes
		keeper := map[int]bool{p.keeper.pid: true}
		table := kernel.Processes()
		for _, one := range table {
			if one.PID == p.keeper.pid {
				left = append(left, one)
			}
		}
		left = append(left, kernel.Below(table, keeper)...)
	case !clean && !p.keeper.contained:
		left = sweepAfter()
	}
	if len(left) == 0 {
		return nil
	}
	return &sandbox.LeftError{Processes: named(left)}
}

// named lists processes with their programs, ordered by number.
func named(list []kernel.Process) []string {
	var out []string
	slices.SortFunc(list, func(a, b kernel.Process) int { return cmp.Compare(a.PID, b.PID) })
	for _, one := range list {
		out = append(out, fmt.Sprintf("%d (%s)", one.PID, programOf(one.PID)))
	}
	return out
}

// programOf is the program of a process that may hang in the kernel. Its command
// line is not read: that waits for the lock of its memory (proc_pid_cmdline(5)).
func programOf(pid int) string {
	if exe, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe"); err == nil {
		return exe
	}
	comm, err := kernel.ReadSmall("/proc/" + strconv.Itoa(pid) + "/comm")
	if err != nil {
		return sandbox.Unexamined
	}
	return strings.ToValidUTF8(strings.TrimSpace(string(comm)), "?")
}

// sweeping is held while orphans are collected: all commands of this process share them.
var sweeping sync.Mutex

// sweepAfter ends what a keeper left behind that was killed.
// The command itself died with the keeper's thread; what it had started came to
// codeagent, the next subreaper. Orphans differ from codeagent's other children by
// what no other child has: more seccomp filters than codeagent itself, no_new_privs,
// and the keeper's bounding set.
//
// A process that stays in the kernel (a hung file system, a frozen group) cannot be
// killed: when nothing else has been left for a while, those are returned.
func sweepAfter() []kernel.Process {
	sweeping.Lock()
	defer sweeping.Unlock()
	var before map[kernel.Process]bool
	since := time.Now()
	for {
		own, dead := confinement(os.Getpid()), 0
		found := kernel.Sweep(func(table []kernel.Process) []kernel.Process {
			// A tree that forks on would fill the process table with its dead.
			dead += reapOrphans(table, own)
			return orphans(table, os.Getpid(), own)
		})
		// A process that forked and ended while the table was read may have a child
		// that is not in it. It itself is, as long as nobody but this thread collects
		// the dead: only who sees neither living nor dead is done.
		if len(found)+dead == 0 {
			return nil
		}
		now := map[kernel.Process]bool{}
		for _, p := range found {
			now[p] = true
		}
		if dead > 0 || !maps.Equal(now, before) {
			before, since = now, time.Now()
		} else if time.Since(since) > stuckPatience {
			return found
		}
		kernel.Pause()
	}
}

// orphans picks the confined children of codeagent and all below them.
func orphans(table []kernel.Process, self int, own marks) []kernel.Process {
	var out []kernel.Process
	roots := map[int]bool{}
	for _, p := range table {
		if p.Parent == self && p.State != 'Z' && p.State != 'X' && confinement(p.PID).orphanOf(own) {
			roots[p.PID] = true
			out = append(out, p)
		}
	}
	return append(out, kernel.Below(table, roots)...)
}

// reapOrphans collects the ones that have ended and reports how many they were.
// Only pids that are known to be orphans are waited for: any other child is
// somebody else's to collect.
func reapOrphans(table []kernel.Process, own marks) (dead int) {
	for _, p := range table {
		if p.Parent == os.Getpid() && p.State == 'Z' && confinement(p.PID).orphanOf(own) {
			_, _ = unix.Wait4(p.PID, nil, unix.WNOHANG, nil)
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
	data, err := kernel.ReadSmall("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return marks{}
	}
	m := marks{noNewPrivs: kernel.StatusField(data, "NoNewPrivs:") == "1"}
	m.filters, _ = strconv.Atoi(kernel.StatusField(data, "Seccomp_filters:"))
	m.bounding, _ = strconv.ParseUint(strings.TrimSpace(kernel.StatusField(data, "CapBnd:")), 16, 64)
	return m
}

func (m marks) orphanOf(own marks) bool {
	return m.noNewPrivs && m.filters > own.filters && (m.bounding&^spec.FileCaps == 0 || m.bounding == own.bounding)
}
