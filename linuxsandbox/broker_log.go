//go:build linux

package linuxsandbox

import (
	"bytes"
	"slices"
	"strconv"

	"codeagent/sandbox"
)

// maxDenials bounds how many different refusals of one command are kept; what
// comes after is counted with none.
const maxDenials = 1000

// denialLog gathers what the broker refused, counting what is alike.
type denialLog struct {
	list []sandbox.Denial
	at   map[denialKey]int
}

type denialKey struct {
	kind                       sandbox.DenialKind
	operation, target, program string
}

// add takes up a refusal of the thread that n is from.
func (l *denialLog) add(n *notification, d sandbox.Denial) {
	d = described(n, d)
	key := denialKey{d.Kind, d.Operation, d.Target, d.Program}
	if i, ok := l.at[key]; ok {
		l.list[i].Count++
		return
	}
	if len(l.list) == maxDenials {
		return
	}
	if l.at == nil {
		l.at = map[denialKey]int{}
	}
	l.at[key] = len(l.list)
	l.list = append(l.list, d)
}

// described is d with what is known of the thread that n is from.
func described(n *notification, d sandbox.Denial) sandbox.Denial {
	d.Evidence, d.Count = sandbox.EvidenceKernel, 1
	d.Program, d.PID = programOf(int(n.tid)), processOf(int(n.tid))
	return d
}

// programOf is a thread's name, which its program may have chosen.
func programOf(tid int) string {
	comm, err := readSmall("/proc/" + strconv.Itoa(tid) + "/comm")
	if err != nil {
		return ""
	}
	return string(bytes.ToValidUTF8(bytes.TrimSuffix(comm, []byte("\n")), []byte("?")))
}

// trace is what was seen; complete once the broker has ended. The broker is not
// told of what Landlock alone refuses.
func (b *broker) trace() sandbox.Trace {
	if b == nil {
		return sandbox.Trace{Evidence: sandbox.EvidenceNothing}
	}
	<-b.done
	return sandbox.Trace{Evidence: sandbox.EvidencePartial, Denials: slices.Clone(b.log.list)}
}
