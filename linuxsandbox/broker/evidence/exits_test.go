//go:build linux

package evidence

import (
	"slices"
	"testing"

	"codeagent/sandbox"
)

// TestExitLog: the log keeps exits of processes with a denied call longer than others.
func TestExitLog(t *testing.T) {
	var l exitLog
	l.witness(&sandbox.Denial{PID: 1, Chain: []sandbox.Ancestor{{PID: 2}}})
	const many = 10 * maxExits
	for i := range many {
		l.add(sandbox.Exit{PID: i + 1, Order: i + 1})
	}
	if len(l.list) > 3*maxExits || l.list[0].PID != 1 || l.list[1].PID != 2 || l.list[len(l.list)-1].PID != many {
		t.Errorf("%d exits from %+v", len(l.list), l.list[:3])
	}
	if !slices.IsSortedFunc(l.list, func(a, b sandbox.Exit) int { return a.Order - b.Order }) {
		t.Error("out of order")
	}
}
