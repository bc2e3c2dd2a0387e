package scripted

import (
	"cmp"
	"fmt"
	"strings"
)

// responder makes the events of one answer over Responses:
//
//	created, in_progress
//	an item of thinking, one of text, one for each call:
//	    output_item.added, its parts and deltas, output_item.done
//	completed | incomplete | failed
type responder struct {
	*answer
	send  func(event string, paced bool)
	n     int      // sequence_number of the next event
	items []string // the finished output items
}

func (r *responder) respond() {
	r.event("response.created", `"response":`+r.response("in_progress", `null`), false)
	r.event("response.in_progress", `"response":`+r.response("in_progress", `null`), false)
	r.thinking()
	r.message()
	r.calls()
	r.end()
}

// event sends one event; fields are its members except type and sequence_number.
func (r *responder) event(name, fields string, paced bool) {
	r.send(fmt.Sprintf(`{"type":"%s","sequence_number":%d,%s}`, name, r.n, fields), paced)
	r.n++
}

// response returns the object for the whole answer.
func (r *responder) response(status, fault string) string {
	usage := "null"
	if status != "in_progress" {
		u := r.counted()
		usage = fmt.Sprintf(`{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d},"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":%d},"total_tokens":%d}`,
			u.Input, u.Cached, u.Output, u.Reasoning, u.Input+u.Output)
	}
	incomplete := "null"
	if status == "incomplete" {
		reason := r.reply.Stop
		if reason == "length" {
			reason = "max_output_tokens"
		}
		incomplete = `{"reason":` + quote(reason) + `}`
	}
	return fmt.Sprintf(`{"id":"resp_%d","object":"response","created_at":1700000000,"status":"%s","error":%s,"incomplete_details":%s,"model":%s,"output":[%s],"parallel_tool_calls":true,"store":false,"usage":%s}`,
		r.req.N, status, fault, incomplete, quote(r.req.Model), strings.Join(r.items, ","), usage)
}

// at returns the members that identify an event's item.
func (r *responder) at(id string) string {
	return fmt.Sprintf(`"item_id":"%s","output_index":%d`, id, len(r.items))
}

func (r *responder) added(item string) {
	r.event("response.output_item.added", fmt.Sprintf(`"output_index":%d,"item":%s`, len(r.items), item), false)
}

func (r *responder) done(item string) {
	r.event("response.output_item.done", fmt.Sprintf(`"output_index":%d,"item":%s`, len(r.items), item), false)
	r.items = append(r.items, item)
}

func (r *responder) thinking() {
	text := r.reply.Reasoning
	if text == "" {
		return
	}
	id, sealed := fmt.Sprintf("rs_%d", r.req.N), ""
	if r.req.WantsEncrypted {
		sealed = `,"encrypted_content":` + quote(cmp.Or(r.reply.Encrypted, fmt.Sprintf("sealed-%d", r.req.N)))
	}
	r.added(`{"id":"` + id + `","type":"reasoning","summary":[]}`)
	r.event("response.reasoning_summary_part.added", r.at(id)+`,"summary_index":0,"part":{"type":"summary_text","text":""}`, false)
	for p := range pieces(text, r.piece) {
		r.event("response.reasoning_summary_text.delta", r.at(id)+`,"summary_index":0,"delta":`+quote(p), true)
	}
	part := `{"type":"summary_text","text":` + quote(text) + `}`
	r.event("response.reasoning_summary_text.done", r.at(id)+`,"summary_index":0,"text":`+quote(text), false)
	r.event("response.reasoning_summary_part.done", r.at(id)+`,"summary_index":0,"part":`+part, false)
	r.done(`{"id":"` + id + `","type":"reasoning","summary":[` + part + `]` + sealed + `}`)
}

func (r *responder) message() {
	if r.reply.Text == "" && r.reply.Refusal == "" {
		return
	}
	id, phase := fmt.Sprintf("msg_%d", r.req.N), ""
	if r.reply.Phase != "" {
		phase = `,"phase":` + quote(r.reply.Phase)
	}
	r.added(`{"id":"` + id + `","type":"message","status":"in_progress","role":"assistant","content":[]` + phase + `}`)
	var parts []string
	for _, part := range []struct{ kind, field, text string }{
		{"output_text", "text", r.reply.Text}, {"refusal", "refusal", r.reply.Refusal},
	} {
		if part.text == "" {
			continue
		}
		at := fmt.Sprintf(`%s,"content_index":%d`, r.at(id), len(parts))
		object := func(text string) string {
			return fmt.Sprintf(`{"type":"%s","%s":%s,"annotations":[]}`, part.kind, part.field, quote(text))
		}
		r.event("response.content_part.added", at+`,"part":`+object(""), false)
		for p := range pieces(part.text, r.piece) {
			r.event("response."+part.kind+".delta", at+`,"delta":`+quote(p), true)
		}
		r.event("response."+part.kind+".done", at+`,"`+part.field+`":`+quote(part.text), false)
		parts = append(parts, object(part.text))
		r.event("response.content_part.done", at+`,"part":`+parts[len(parts)-1], false)
	}
	r.done(`{"id":"` + id + `","type":"message","status":"completed","role":"assistant","content":[` + strings.Join(parts, ",") + `]` + phase + `}`)
}

// calls sends one item for each call; interleaved, their deltas alternate.
func (r *responder) calls() {
	first := len(r.items)
	for _, s := range r.callSteps() {
		id := fmt.Sprintf("fc_%d_%d", r.req.N, s.index)
		item := func(status, arguments string) string {
			return fmt.Sprintf(`{"id":"%s","type":"function_call","status":"%s","call_id":%s,"name":%s,"arguments":%s}`,
				id, status, quote(s.call.ID), quote(s.call.Name), quote(arguments))
		}
		at := fmt.Sprintf(`"item_id":"%s","output_index":%d`, id, first+s.index)
		switch s.kind {
		case callBegins:
			r.event("response.output_item.added", fmt.Sprintf(`"output_index":%d,"item":%s`, first+s.index, item("in_progress", "")), false)
		case callGrows:
			r.event("response.function_call_arguments.delta", at+`,"delta":`+quote(s.fragment), r.pacesArguments(false))
		case callEnds:
			r.event("response.function_call_arguments.done", at+`,"arguments":`+quote(s.call.Arguments), false)
			r.done(item("completed", s.call.Arguments))
		}
	}
}

func (r *responder) end() {
	status, fault := "completed", "null"
	switch r.reply.Stop {
	case "length", "content_filter":
		status = "incomplete"
	case "error":
		status, fault = "failed", `{"code":"server_error","message":"the script wants this answer to fail"}`
	}
	r.event("response."+status, `"response":`+r.response(status, fault), false)
}
