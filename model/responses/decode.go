package responses

import (
	"encoding/json"
	"strings"

	"codeagent/model"
	"codeagent/model/wire"
)

// event holds the used members of a streamed event. Members of unexpected types are
// skipped, see wire.Parse.
type event struct {
	Type   string   `json:"type"`
	Index  *float64 `json:"output_index"`
	ItemID string   `json:"item_id"`
	// Part is the position of a summary part.
	Part      *float64        `json:"summary_index"`
	Delta     wire.Text       `json:"delta"`
	Text      wire.Text       `json:"text"`
	Refusal   wire.Text       `json:"refusal"`
	Arguments wire.JSONText   `json:"arguments"`
	Item      json.RawMessage `json:"item"`
	Response  *response       `json:"response"`
	Choices   json.RawMessage `json:"choices"` // of Chat Completions
}

// response is a whole answer: at the end of a stream, or sent instead of a stream.
type response struct {
	Object     string            `json:"object"`
	Status     string            `json:"status"`
	Output     []json.RawMessage `json:"output"`
	Usage      *usage            `json:"usage"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

type usage struct {
	Input   float64 `json:"input_tokens"`
	Output  float64 `json:"output_tokens"`
	Details struct {
		Cached float64 `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	OutputDetails struct {
		Reasoning float64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// decoder converts events to deltas.
type decoder struct {
	yield  wire.Yield
	source string
	items  items
	usage  model.Usage
	reason model.StopReason // empty until the provider sends it
	ended  bool             // the provider ended the answer
	other  bool             // an event had the shape of Chat Completions
}

func newDecoder(a *attempt) *decoder {
	return &decoder{yield: a.Yield, source: a.Source, items: items{used: wire.NewCallIDs(a.Items)}}
}

// Event decodes one event and yields its content.
func (d *decoder) Event(data []byte) error {
	var e event
	if err := wire.Parse(data, &e); err != nil {
		return wire.NotJSON(err)
	}
	if d.ended {
		return nil // what follows the end is not part of the answer
	}
	if err := wire.BoundAnswer(0, len(d.items.all)); err != nil {
		return err
	}
	switch e.Type {
	case "response.output_item.added":
		return d.added(&e)
	case "response.output_item.done":
		return d.done(&e)
	case "response.output_text.delta", "response.refusal.delta":
		return d.say(d.items.at(&e, kindMessage), string(e.Delta))
	case "response.output_text.done", "response.refusal.done":
		return d.sayWhole(d.items.at(&e, kindMessage), string(e.Text+e.Refusal))
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta", "response.reasoning.delta":
		return d.think(d.items.at(&e, kindReasoning), e.Part, string(e.Delta))
	case "response.function_call_arguments.delta":
		return d.fragment(d.items.at(&e, kindCall), string(e.Delta))
	case "response.function_call_arguments.done":
		return d.whole(d.items.at(&e, kindCall), string(e.Arguments))
	case "response.completed", "response.done", "response.incomplete", "response.failed", "response.cancelled":
		r := e.Response
		if r == nil {
			r = &response{}
		}
		if r.Status == "" {
			r.Status = strings.TrimPrefix(e.Type, "response.")
		}
		return d.end(r)
	case "", "response":
		d.other = d.other || len(e.Choices) > 0
		return d.answer(data)
	}
	return nil // created, in_progress, parts, and unknown events
}

// answer takes a whole answer that a server sent instead of a stream.
func (d *decoder) answer(data []byte) error {
	var r response
	if err := wire.Parse(data, &r); err != nil || (r.Object != "response" && r.Output == nil) {
		return nil // some other event
	}
	return d.end(&r)
}

// end processes the event that ends the answer.
func (d *decoder) end(r *response) error {
	if u := r.Usage; u != nil {
		d.usage = model.Usage{
			Input: int(u.Input), Cached: int(u.Details.Cached), Output: int(u.Output), Reasoning: int(u.OutputDetails.Reasoning),
		}
	}
	if d.items.none() { // the server streams only the end
		for i, raw := range r.Output {
			at := float64(i)
			if err := d.done(&event{Index: &at, Item: raw}); err != nil {
				return err
			}
		}
	}
	d.ended = true
	switch r.Status {
	case "", "completed", "done":
		d.reason = model.StopEnd
		return nil
	case "incomplete":
		switch r.Incomplete.Reason {
		case "", "max_output_tokens", "max_tokens", "length":
			d.reason = model.StopLength
			return nil
		case "content_filter":
			d.reason = model.StopFilter
			return nil
		}
		return wire.BrokenOff("incomplete: " + r.Incomplete.Reason)
	}
	return wire.BrokenOff(r.Status)
}

// State reports whether the answer is complete, and whether its usage is there too.
func (d *decoder) State() (complete, all bool) { return d.ended, d.ended }

// End yields the end of an answer, or returns why the stream was not a complete one. A stream
// without its last event was cut off; [DONE] replaces that event if no item is open.
func (d *decoder) End(err error) error {
	ended, said := wire.Ended(err)
	switch {
	case d.ended:
	case ended && d.other && d.items.none():
		return wire.OtherWire("Responses", "Chat Completions")
	case said && !d.items.none() && !d.items.open():
		d.reason = model.StopEnd
	case ended:
		return wire.CutOff(err)
	default:
		return err
	}
	calls := false
	for _, it := range d.items.all {
		if err := d.close(it, nil); err != nil {
			return err
		}
		calls = calls || it.kind == kindCall
	}
	if calls && d.reason == model.StopEnd {
		d.reason = model.StopCalls
	}
	return d.yield(model.Finished{Reason: d.reason, Usage: d.usage})
}
