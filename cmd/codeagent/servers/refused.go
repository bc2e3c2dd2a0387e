package servers

import (
	"slices"

	"codeagent/sandbox"
)

// mostNoted bounds the refusals outside of calls that are kept.
const mostNoted = 50

// refusalLog is what the sandbox refused outside of calls: the latest. Threat: harmless ones in any number
// would otherwise hide those that follow.
type refusalLog struct {
	list []sandbox.Denial
}

// add adds d, in place of one alike that knew less.
func (r *refusalLog) add(d sandbox.Denial) {
	i := slices.IndexFunc(r.list, func(o sandbox.Denial) bool {
		return o.Kind == d.Kind && o.Target == d.Target && o.Program == d.Program
	})
	if i >= 0 {
		r.list[i] = d
		return
	}
	if len(r.list) == mostNoted {
		r.list = slices.Delete(r.list, 0, 1)
	}
	r.list = append(r.list, d)
}
