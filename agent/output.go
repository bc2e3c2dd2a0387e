package agent

import "codeagent/event"

// output reports the output of one call as it arrives, limited by exec. If the command runs
// twice, the offsets of the second run continue those of the first.
type output struct {
	emit   func(event.Event)
	callID string
	base   int64 // the offset where the run began
	end    int64 // the end of what was reported
}

// sink is an exec.Sink.
func (o *output) sink(offset int64, data []byte) {
	offset += o.base
	o.emit(event.ToolOutput{CallID: o.callID, Offset: offset, Data: data, Skipped: offset - o.end})
	o.end = offset + int64(len(data))
}
