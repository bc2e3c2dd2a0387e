package exec

import (
	"errors"

	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
)

// Draft receives what a command changes, in place of the files themselves.
type Draft interface {
	sandbox.Draft
	// Touch is called with each path where the command is about to change something, as
	// sandbox.Command.Changed.
	Touch(path string)
}

// draftPolicy returns p for a command on a draft: nothing that it does leaves the draft. So it has no network and
// no socket of another program, and of the write roots only folders, which a draft can cover.
func draftPolicy(p sandbox.Policy, files sandbox.FileSystem) sandbox.Policy {
	q := p.Clone()
	q.Network, q.Sockets, q.SharedTemp = sandbox.Network{}, nil, false
	q.Write = nil
	for _, root := range p.Write {
		if mode, err := files.Lstat(root.Path); root.Optional && (err != nil || !mode.IsDir()) {
			continue
		}
		root.Optional = false
		q.Write = append(q.Write, root)
	}
	return q
}

// Drafter is a backend that has drafts. Any other would run the command on the files themselves.
type Drafter interface{ HasDrafts() }

// draftOn returns an error if backend has no drafts.
func draftOn(backend resolved.Backend) error {
	if _, ok := backend.(Drafter); !ok {
		return cannot("draft", errors.New("commands run without a sandbox that has drafts"))
	}
	return nil
}
