package headless

import (
	"strings"
	"unicode/utf8"

	"codeagent/event"
)

// deltaBytes bounds the output of one call in deltas. The end of the call has what the model gets.
const deltaBytes = 1 << 20

// liveOutput is the output of a running call, so far.
type liveOutput struct {
	sent int
	// part is the beginning of a character whose rest has not come.
	part []byte
	// skipped counts bytes that no delta has.
	skipped int64
}

// printed returns the line for new output of a running call. exec has merged and bounded it: at
// most 20 pieces a second.
func (l *lines) printed(e event.ToolOutput) []line {
	started, ok := l.calls[e.CallID]
	if !ok || l.plain {
		return nil
	}
	p := l.prints[e.CallID+e.Stream]
	if p == nil {
		p = &liveOutput{}
		l.prints[e.CallID+e.Stream] = p
	}
	if e.Skipped > 0 {
		p.skipped += e.Skipped + int64(len(p.part))
		p.part = nil
	}
	if p.sent >= deltaBytes {
		return nil
	}
	whole, part := splitRune(append(p.part, e.Data...))
	p.part = part
	if len(whole) == 0 {
		return nil
	}
	p.sent += len(whole)
	it := &item{ID: started.ID, Type: started.Type, Command: started.Command, Tool: started.Tool, Title: started.Title, serverCall: started.serverCall, Status: inProgress,
		delta: delta{CallID: e.CallID, Stream: e.Stream, Delta: strings.ToValidUTF8(string(whole), "\uFFFD"), Skipped: p.skipped}}
	p.skipped = 0
	return []line{{Type: "item.updated", Item: it}}
}

// splitRune separates the beginning of a character at the end of data.
func splitRune(data []byte) (whole, part []byte) {
	for i := len(data) - 1; i >= max(0, len(data)-utf8.UTFMax); i-- {
		if utf8.RuneStart(data[i]) {
			if !utf8.FullRune(data[i:]) {
				return data[:i], append([]byte(nil), data[i:]...)
			}
			break
		}
	}
	return data, nil
}
