package responses

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"codeagent/model"
	"codeagent/model/wire"
)

// The kinds of output items that are decoded.
const (
	kindMessage   = "message"
	kindReasoning = "reasoning"
	kindCall      = "function_call"
	kindSearch    = "web_search_call"
)

// maxSearch bounds a search that is sent back, in bytes.
const maxSearch = 16 << 10

// output holds the used members of an output item.
type output struct {
	Type      string        `json:"type"`
	ID        string        `json:"id"`
	CallID    string        `json:"call_id"`
	Name      string        `json:"name"`
	Arguments wire.JSONText `json:"arguments"`
	Phase     string        `json:"phase"`
	Encrypted string        `json:"encrypted_content"`
	Content   []struct {
		Text    wire.Text         `json:"text"`
		Refusal wire.Text         `json:"refusal"`
		Cited   []wire.Annotation `json:"annotations"`
	} `json:"content"`
	Action struct {
		Query string `json:"query"`
	} `json:"action"` // of a search
	Summary []struct {
		Text wire.Text `json:"text"`
	} `json:"summary"`
}

// item is one output item during streaming.
type item struct {
	kind   string
	index  int    // output_index; -1 if absent
	id     string // the provider's id; may be empty
	said   bool   // some of its text has come
	part   int    // the last summary part
	closed bool

	// For a call:
	callID    string // the provider's
	ours      string // our id, unique; set when started
	name      string
	arguments strings.Builder
}

// items are the output items of one answer. Events name their item by item_id and by
// output_index, and servers get either wrong: ids that change with every event, indexes that
// are all 0, neither. A known id decides first, then the index among items of the right
// kind, then the last item.
type items struct {
	used  wire.CallIDs
	all   []*item
	calls int // how many of them have begun as calls
	size  int // bytes of all arguments
}

func (s *items) none() bool { return len(s.all) == 0 }

func (s *items) open() bool {
	return slices.ContainsFunc(s.all, func(it *item) bool { return !it.closed })
}

// find returns the item of that kind that an event names, or nil.
func (s *items) find(kind, id string, index *float64) *item {
	var last *item
	for _, it := range s.all {
		if it.kind == kind && id != "" && it.id == id {
			return it
		}
	}
	for _, it := range slices.Backward(s.all) {
		if it.kind != kind || it.closed {
			continue
		}
		if index != nil && it.index == int(*index) {
			return it
		}
		if last == nil && index == nil {
			last = it
		}
	}
	return last
}

// at returns the item that an event belongs to; it makes one that was not announced.
func (s *items) at(e *event, kind string) *item {
	if it := s.find(kind, e.ItemID, e.Index); it != nil {
		return it
	}
	return s.add(kind, e.ItemID, e.Index)
}

func (s *items) add(kind, id string, index *float64) *item {
	it := &item{kind: kind, id: id, index: -1}
	if index != nil {
		it.index = int(*index)
	}
	s.all = append(s.all, it)
	return it
}

// announced reports whether o has begun already.
func (s *items) announced(o *output, index *float64) bool {
	for _, it := range s.all {
		if it.kind != o.Type {
			continue
		}
		if o.ID != "" && it.id == o.ID {
			return true
		}
		if !it.closed && o.CallID != "" && it.callID == o.CallID && index != nil && it.index == int(*index) {
			return true // its id changes with each event
		}
	}
	return false
}

// added processes the beginning of an item.
func (d *decoder) added(e *event) error {
	var o output
	if wire.Parse(e.Item, &o) != nil {
		return nil
	}
	switch o.Type {
	case kindMessage, kindReasoning, kindCall:
	default:
		return nil
	}
	if d.items.announced(&o, e.Index) {
		return nil
	}
	it := d.items.add(o.Type, o.ID, e.Index)
	it.callID, it.name = o.CallID, o.Name
	if it.kind == kindCall {
		return d.begin(it)
	}
	return nil
}

// done processes a complete item.
func (d *decoder) done(e *event) error {
	var o output
	if err := wire.Parse(e.Item, &o); err != nil {
		return wire.NotJSON(err)
	}
	it := d.items.meant(&o, e.Index)
	if it != nil && it.closed {
		return nil // sent twice
	}
	switch o.Type {
	case kindMessage, kindReasoning, kindCall:
		if it == nil {
			it = d.items.add(o.Type, o.ID, e.Index)
		}
	}
	switch o.Type {
	case kindMessage:
		var text strings.Builder
		var cited []wire.Annotation
		for _, p := range o.Content {
			text.WriteString(string(p.Text + p.Refusal))
			cited = append(cited, p.Cited...)
		}
		if err := d.sayWhole(it, text.String()); err != nil {
			return err
		}
		if len(cited) > 0 {
			if err := d.yield(wire.Searched("", cited)); err != nil {
				return err
			}
		}
		return d.close(it, d.phase(&o))
	case kindSearch: // the provider wants it back in its place, like thinking
		var back struct { // without its id, since nothing is stored
			Type   string          `json:"type"`
			Status json.RawMessage `json:"status,omitempty"`
			Action json.RawMessage `json:"action"`
		}
		if err := wire.Parse(e.Item, &back); err != nil || back.Action == nil {
			return nil // it has no text about what it did
		}
		if err := d.yield(wire.Searched(o.Action.Query, nil)); err != nil || len(e.Item) > maxSearch {
			return err
		}
		return d.yield(model.Sealed{Kind: model.Reasoning, Opaque: d.opaque(back)})
	case kindReasoning:
		if err := d.thinkWhole(it, &o); err != nil {
			return err
		}
		return d.close(it, d.thinking(&o, e.Item))
	case kindCall:
		if it.ours == "" {
			it.callID, it.name = o.CallID, o.Name
		}
		if err := d.whole(it, string(o.Arguments)); err != nil {
			return err
		}
		return d.close(it, nil)
	}
	return nil
}

// say yields more text of a message.
func (d *decoder) say(it *item, text string) error {
	if text == "" || it.closed {
		return nil
	}
	it.said = true
	return d.yield(model.TextDelta{Text: text})
}

// sayWhole yields a text that a server sends at once, unless it was streamed.
func (d *decoder) sayWhole(it *item, text string) error {
	if it.said {
		return nil
	}
	return d.say(it, text)
}

// think yields more thinking; parts of a summary become paragraphs.
func (d *decoder) think(it *item, part *float64, text string) error {
	if text == "" || it.closed {
		return nil
	}
	if part != nil && int(*part) != it.part {
		it.part = int(*part)
		if it.said {
			text = "\n\n" + text
		}
	}
	it.said = true
	return d.yield(model.ReasoningDelta{Text: text})
}

// thinkWhole yields the thinking of an item that was not streamed.
func (d *decoder) thinkWhole(it *item, o *output) error {
	if it.said {
		return nil
	}
	var parts []string
	for _, p := range o.Summary {
		parts = append(parts, string(p.Text))
	}
	if len(parts) == 0 {
		for _, p := range o.Content {
			parts = append(parts, string(p.Text))
		}
	}
	return d.think(it, nil, strings.Join(parts, "\n\n"))
}

// begin yields the beginning of a call with a known name.
func (d *decoder) begin(it *item) error {
	if it.ours != "" || it.name == "" {
		return nil
	}
	it.ours = d.items.used.Unique(it.callID)
	d.items.calls++
	if err := wire.BoundCalls(d.items.calls, 0); err != nil {
		return err
	}
	if err := d.yield(model.CallStarted{ID: it.ours, Name: it.name}); err != nil || it.arguments.Len() == 0 {
		return err
	}
	return d.yield(model.CallDelta{ID: it.ours, Arguments: it.arguments.String()})
}

// fragment adds to a call's arguments.
func (d *decoder) fragment(it *item, text string) error {
	if text == "" || it.closed {
		return nil
	}
	d.items.size += len(text)
	if err := wire.BoundCalls(0, d.items.size); err != nil {
		return err
	}
	it.arguments.WriteString(text)
	if it.ours == "" {
		return nil // kept until the name is known
	}
	return d.yield(model.CallDelta{ID: it.ours, Arguments: text})
}

// whole processes the complete arguments of a call at its end. Streamed arguments stay if
// they are JSON; otherwise the missing rest is added.
func (d *decoder) whole(it *item, text string) error {
	if it.closed {
		return nil
	}
	if err := d.begin(it); err != nil {
		return err
	}
	have := it.arguments.String()
	switch rest, ok := strings.CutPrefix(text, have); {
	case ok:
		return d.fragment(it, rest)
	case json.Valid([]byte(have)) || !json.Valid([]byte(text)):
		return nil
	}
	return wire.BrokenOff("the arguments of a tool call are not what was streamed of them")
}

// close ends an item. An item that the provider has not ended has no opaque.
func (d *decoder) close(it *item, opaque *model.Opaque) error {
	if it.closed {
		return nil
	}
	it.closed = true
	switch {
	case it.kind == kindMessage && it.said:
		return d.yield(model.Sealed{Kind: model.Assistant, Opaque: opaque})
	case it.kind == kindReasoning && (it.said || opaque != nil):
		return d.yield(model.Sealed{Kind: model.Reasoning, Opaque: opaque})
	case it.kind == kindCall:
		it.name = cmp.Or(it.name, "unknown") // no tool has this name, so the call fails
		if err := d.begin(it); err != nil {
			return err
		}
		args := cmp.Or(strings.TrimSpace(it.arguments.String()), "{}")
		return d.yield(model.CallDone{Call: model.ToolCall{ID: it.ours, Name: it.name, Arguments: args}})
	}
	return nil
}

// phase returns what must be sent back with a message.
func (d *decoder) phase(o *output) *model.Opaque {
	if o.Phase == "" || len(o.Phase) > 64 {
		return nil
	}
	return d.opaque(phase{o.Phase})
}

// opaque returns v as what must be sent back, nil if it cannot be encoded.
func (d *decoder) opaque(v any) *model.Opaque {
	data, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return &model.Opaque{Source: d.source, Data: data}
}

// thinking returns a reasoning item itself if it must be sent back, that is, if it holds what
// the provider cannot look up.
func (d *decoder) thinking(o *output, raw json.RawMessage) *model.Opaque {
	if o.Encrypted == "" && len(o.Content) == 0 {
		return nil
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	delete(fields, "status") // the provider refuses "status":null
	if _, ok := fields["summary"]; !ok {
		fields["summary"] = json.RawMessage("[]")
	}
	return d.opaque(fields)
}
