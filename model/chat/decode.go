package chat

import (
	"cmp"
	"encoding/json"
	"strings"

	"codeagent/model"
	"codeagent/model/wire"
)

// chunk holds the used members of a streamed chunk, or of a whole answer that a server
// sends instead. Members of unexpected types are skipped, see parse.
type chunk struct {
	Type    string   `json:"type"`   // of the Responses API
	Object  string   `json:"object"` // "response" in the Responses API
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage"`
	Groq    struct {
		Usage *usage `json:"usage"`
	} `json:"x_groq"`
}

type choice struct {
	Index   float64  `json:"index"`
	Delta   message  `json:"delta"`
	Message *message `json:"message"` // the whole answer, or a piece where no delta comes
	Finish  string   `json:"finish_reason"`
}

type message struct {
	Content   said              `json:"content"`
	Reasoning wire.Text         `json:"reasoning"`         // OpenRouter, Groq, newer vLLM
	Thinking  wire.Text         `json:"reasoning_content"` // DeepSeek, llama.cpp, vLLM
	Refusal   wire.Text         `json:"refusal"`
	Calls     []fragment        `json:"tool_calls"`
	Call      *function         `json:"function_call"`     // the older form
	Details   []detail          `json:"reasoning_details"` // OpenRouter
	Cited     []wire.Annotation `json:"annotations"`
}

// said is a message's text, and the thinking among its parts (Mistral):
// [{"type":"thinking","thinking":[{"type":"text","text":"…"}]}].
type said struct{ text, thinking wire.Text }

// UnmarshalJSON decodes a string, null, or a list of parts.
func (c *said) UnmarshalJSON(data []byte) error {
	var parts []struct {
		Thinking wire.Text `json:"thinking"`
	}
	if data[0] == '[' {
		if err := wire.Parse(data, &parts); err != nil {
			return err
		}
	}
	var thinking strings.Builder
	for _, p := range parts {
		thinking.WriteString(string(p.Thinking))
	}
	c.thinking = wire.Text(thinking.String())
	return c.text.UnmarshalJSON(data)
}

// fragment is a piece of a tool call.
type fragment struct {
	Index    *float64 `json:"index"`
	ID       string   `json:"id"`
	Function function `json:"function"`
	// Extra must be sent back with the call (Gemini).
	Extra json.RawMessage `json:"extra_content"`
}

type function struct {
	Name      string        `json:"name"`
	Arguments wire.JSONText `json:"arguments"`
}

type usage struct {
	Prompt     float64 `json:"prompt_tokens"`
	Completion float64 `json:"completion_tokens"`
	CacheHit   float64 `json:"prompt_cache_hit_tokens"` // DeepSeek
	Input      struct {
		Cached float64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	Output struct {
		Reasoning float64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// decoder converts chunks to deltas.
type decoder struct {
	yield  wire.Yield
	calls  assembler
	usage  model.Usage
	reason model.StopReason // empty until the provider sends it
	spoke  bool
	other  bool // an event had the shape of the Responses API
	source string
	kept   details // thinking blocks to send back
	came   came    // what deltas have brought
	learn  func(func(*quirks))
	// reasons: the answer has reasoning_content.
	reasons bool
}

// came records which kinds of content came in deltas.
type came struct{ text, thinking, details, calls bool }

func newDecoder(a *attempt) *decoder {
	d := &decoder{source: a.Source, learn: a.Learn}
	d.yield = func(delta model.Delta) error {
		d.spoke = true
		return a.Yield(delta)
	}
	d.calls = assembler{yield: d.yield, source: a.Source, used: wire.NewCallIDs(a.Items)}
	return d
}

// Event decodes one chunk and yields its content.
func (d *decoder) Event(data []byte) error {
	var c chunk
	if err := wire.Parse(data, &c); err != nil {
		return wire.NotJSON(err)
	}
	d.other = d.other || c.Object == "response" || strings.HasPrefix(c.Type, "response.")
	for _, u := range []*usage{c.Usage, c.Groq.Usage} {
		if u != nil {
			d.usage = model.Usage{
				Input: int(u.Prompt), Cached: int(max(u.Input.Cached, u.CacheHit)),
				Output: int(u.Completion), Reasoning: int(u.Output.Reasoning),
			}
		}
	}
	for i := range c.Choices {
		if c.Choices[i].Index != 0 {
			continue // only one answer was requested
		}
		if err := d.choice(&c.Choices[i]); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) choice(c *choice) error {
	if err := d.message(&c.Delta, d.calls.add); err != nil {
		return err
	}
	m := &c.Delta
	d.came.text = d.came.text || m.Content.text != "" || m.Refusal != ""
	d.came.thinking = d.came.thinking || m.thought() != ""
	d.came.details = d.came.details || len(m.Details) > 0
	d.came.calls = d.came.calls || len(m.Calls) > 0
	if c.Message != nil {
		if err := d.whole(*c.Message); err != nil {
			return err
		}
	}
	if err := d.calls.settle(&d.kept); err != nil {
		return err
	}
	if c.Finish == "" {
		return nil
	}
	var err error
	d.reason, err = stopReason(c.Finish)
	return err
}

// whole takes a message that repeats what came in deltas.
func (d *decoder) whole(m message) error {
	if d.came.text {
		m.Content.text, m.Refusal = "", ""
	}
	if d.came.thinking {
		m.Content.thinking, m.Reasoning, m.Thinking = "", "", ""
	}
	if d.came.details {
		m.Details = nil
	}
	if d.calls.older != nil {
		m.Call = nil
	}
	if d.came.calls {
		return d.message(&m, d.calls.again)
	}
	return d.message(&m, d.calls.add)
}

// thought returns the thinking of a message, from any of its fields.
func (m *message) thought() wire.Text { return cmp.Or(m.Reasoning, m.Thinking, m.Content.thinking) }

// message yields the content of a message; call takes its calls.
func (d *decoder) message(m *message, call func(*fragment) error) error {
	d.kept.add(m.Details)
	if err := wire.BoundAnswer(d.kept.size, 0); err != nil {
		return err
	}
	if m.Thinking != "" && !d.reasons {
		d.reasons = true
		d.learn(func(q *quirks) { q.reasoning = true })
	}
	if t := m.thought(); t != "" {
		if err := d.yield(model.ReasoningDelta{Text: string(t)}); err != nil {
			return err
		}
	}
	if t := m.Content.text + m.Refusal; t != "" {
		if err := d.yield(model.TextDelta{Text: string(t)}); err != nil {
			return err
		}
	}
	if len(m.Cited) > 0 {
		if err := d.yield(wire.Searched("", m.Cited)); err != nil {
			return err
		}
	}
	for i := range m.Calls {
		if err := call(&m.Calls[i]); err != nil {
			return err
		}
	}
	if m.Call != nil && *m.Call != (function{}) {
		return d.calls.addOlder(m.Call)
	}
	return nil
}

// stopReason parses finish_reason; reasons that are failures of the provider become
// errors.
func stopReason(finish string) (model.StopReason, error) {
	switch strings.ToLower(finish) {
	case "length", "max_tokens", "model_length":
		return model.StopLength, nil
	case "content_filter", "safety", "sensitive", "prohibited_content", "recitation", "blocklist", "spii":
		return model.StopFilter, nil
	case "tool_calls", "function_call", "tool_use":
		return model.StopCalls, nil
	case "error", "abort", "network_error", "insufficient_system_resource", "malformed_function_call":
		return "", wire.BrokenOff(strings.ToLower(finish))
	}
	return model.StopEnd, nil
}

// State reports whether the answer is complete, and whether its usage is there too.
func (d *decoder) State() (complete, all bool) {
	return d.reason != "", d.usage != (model.Usage{})
}

// End yields the end of an answer, or returns why the stream was not a complete one. A
// stream that ends without a reason and without [DONE] was cut off.
func (d *decoder) End(err error) error {
	ended, said := wire.Ended(err)
	switch {
	case d.reason != "":
	case said && (d.spoke || d.calls.older != nil):
		d.reason = model.StopEnd
	case ended && d.other && !d.spoke:
		return wire.OtherWire("Chat Completions", "Responses")
	case ended:
		return wire.CutOff(err)
	default:
		return err
	}
	// What must be sent back with the thinking is complete only now; it becomes an item of
	// thinking without text.
	if o := (kept{Details: d.kept.take()}).opaque(d.source); o != nil {
		if err := d.yield(model.Sealed{Kind: model.Reasoning, Opaque: o}); err != nil {
			return err
		}
	}
	if err := d.calls.finish(); err != nil {
		return err
	}
	if d.calls.any() && d.reason == model.StopEnd {
		d.reason = model.StopCalls // many providers say "stop"
	}
	return d.yield(model.Finished{Reason: d.reason, Usage: d.usage})
}
