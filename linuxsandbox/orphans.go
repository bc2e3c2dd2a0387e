//go:build linux

package linuxsandbox

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// keepers are the keepers of this process that were not collected yet, for EndKeepers.
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

// EndKeepers kills the keepers of all commands and the processes they leave behind. A process that
// ends without waiting for its commands calls it. It returns the processes that cannot be killed,
// in the form of LeftError.
func EndKeepers() []string {
	keepers.Lock()
	live := slices.Collect(maps.Keys(keepers.live))
	keepers.Unlock()
	for _, k := range live {
		k.kill()
	}
	var left []string
	for _, k := range live {
		if k.endsWithin(killPatience) {
			continue
		}
		left = append(left, named(k.leftovers(false, false))...)
	}
	return append(left, named(sweepAfter())...)
}

// leftovers ends the processes that a killed keeper left behind. clean means that the keeper was
// not killed; over means that it has ended. It returns the processes that cannot be ended.
func (k *keeperProcess) leftovers(clean, over bool) []kernel.Process {
	switch {
	case !over: // its namespace cannot be swept, and nothing escapes from it
		table := kernel.Processes()
		itself := slices.DeleteFunc(slices.Clone(table), func(p kernel.Process) bool { return p.PID != k.pid })
		return append(itself, kernel.Below(table, map[int]bool{k.pid: true})...)
	case !clean && !k.contained:
		return sweepAfter()
	}
	return nil
}

// leftError names the processes that cannot be ended; nil if all have ended.
func leftError(left []kernel.Process) error {
	if len(left) == 0 {
		return nil
	}
	return &sandbox.LeftError{Processes: named(left)}
}

// named lists processes with their programs, ordered by pid.
func named(list []kernel.Process) []string {
	var out []string
	sort.Slice(list, func(i, j int) bool { return list[i].PID < list[j].PID })
	for _, one := range list {
		out = append(out, fmt.Sprintf("%d (%s)", one.PID, programOf(one.PID)))
	}
	return out
}

// programOf is the program of a process that may hang in the kernel. It does not read the command
// line, because that read waits for the lock of the process's memory (proc_pid_cmdline(5)).
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

// sweeping is held while orphans are collected, because all commands of this process share them.
var sweeping sync.Mutex

// sweepAfter ends the processes that a killed keeper left behind. The command itself died with the
// keeper's thread. Its descendants became children of codeagent, the next subreaper. These orphans
// differ from codeagent's other children: they have more seccomp filters than codeagent itself,
// no_new_privs, and the keeper's bounding set.
//
// A process that stays in the kernel (a hung file system, a frozen group) cannot be killed. When
// only such processes have been left for stuckPatience, sweepAfter returns them.
func sweepAfter() []kernel.Process {
	sweeping.Lock()
	defer sweeping.Unlock()
	var before map[kernel.Process]bool
	since := time.Now()
	for {
		own, dead := confinement(os.Getpid()), 0
		found := kernel.Sweep(func(table []kernel.Process) []kernel.Process {
			// Collect the dead at once: a tree that keeps forking would fill the process table with
			// them.
			dead += reapOrphans(table, own)
			return orphans(table, os.Getpid(), own)
		})
		// A process that forked and ended during the read of the table may have a child that is not
		// in the table. The dead parent is in it, as long as only this thread collects the dead. So
		// the sweep is complete only if the table shows neither a living orphan nor a dead one.
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

// orphans returns the confined children of codeagent and all their descendants.
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

// reapOrphans collects the dead orphans and returns their number. It waits only for pids that are
// known to be orphans: other code of this process collects its other children.
func reapOrphans(table []kernel.Process, own marks) (dead int) {
	for _, p := range table {
		if p.Parent == os.Getpid() && p.State == 'Z' && confinement(p.PID).orphanOf(own) {
			_, _ = unix.Wait4(p.PID, nil, unix.WNOHANG, nil)
			dead++
		}
	}
	return dead
}

// marks are the properties of a process that it cannot give up.
type marks struct {
	noNewPrivs bool
	filters    int
	// bounding is the capability bounding set. An orphan's set is empty except for file rights, or
	// equal to codeagent's own where the user could not change it.
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
