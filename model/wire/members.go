package wire

import (
	"fmt"

	"codeagent/model"
)

const (
	// smallEvent is the size below which any event is cheap to decode, in bytes.
	smallEvent = 64 << 10
	// maxEventMembers bounds the members of one event's lists and objects: each may
	// become a struct of some hundred bytes, so that 30 MB of "{}," would take 5 GB.
	maxEventMembers = 100_000
)

// overfull returns an error for JSON with more members than an answer needs; nil otherwise.
// It does not count commas in strings.
func overfull(data []byte) error {
	if len(data) <= smallEvent {
		return nil
	}
	members, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			members++
		}
	}
	if members <= maxEventMembers {
		return nil
	}
	return &model.Error{Kind: model.ServerFault, Message: fmt.Sprintf("the provider sent an event of more than %d members", maxEventMembers), Err: final{errEventSize}}
}
