package modeltest

import (
	"strconv"
	"testing"

	"codeagent/internal/scripted"
	"codeagent/model"
)

// Wire describes an API to the cases.
type Wire struct {
	// Valid checks the body of a request by the strictest rules known of a provider of this
	// API.
	Valid func(body []byte) error

	name   string              // folder of the recordings
	text   func(string) string // returns an event that brings text
	end    string              // the event that ends an answer
	shapes func() []testcase   // cases for this API only
}

// Chat is Chat Completions.
var Chat = Wire{
	Valid:  ValidChat,
	name:   "chat",
	text:   func(s string) string { return delta(`{"content":` + strconv.Quote(s) + `}`) },
	end:    finish("stop"),
	shapes: chatShapes,
}

// Responses is the Responses API.
var Responses = Wire{
	Valid: ValidResponses,
	name:  "responses",
	text: func(s string) string {
		return `{"type":"response.output_text.delta","item_id":"m","output_index":0,"content_index":0,"delta":` + strconv.Quote(s) + `}`
	},
	end:    `{"type":"response.completed","response":{"status":"completed"}}`,
	shapes: responsesShapes,
}

// accepts continues the conversation after an answer, as an agent would, and checks the
// request by the API's rules.
func (w Wire) accepts(t *testing.T, m Model, srv *scripted.Server, got Answer) {
	t.Helper()
	next := question()
	next.Items = Continued(next.Items, got)
	before := len(srv.Requests())
	if _, err := Collect(t, m.Stream(unhung(t), next)); err != nil {
		t.Errorf("the conversation cannot go on: %v", err)
	}
	made := srv.Requests()
	if len(made) == before {
		t.Error("the conversation does not go on")
		return
	}
	for _, r := range made[before:] {
		if err := w.Valid(r.Body); err != nil {
			t.Errorf("a strict provider refuses what follows: %v\n%.4000s", err, r.Body)
		}
	}
}

// Continued returns the conversation after an answer: its items, a result for each call,
// and the person's next message.
func Continued(items []model.Item, a Answer) []model.Item {
	items = append(items, a.Items...)
	for i, c := range a.Calls {
		text := "done"
		if i%2 == 1 {
			text = "" // a command without output
		}
		items = append(items, model.Item{Kind: model.Result, CallID: c.ID, Text: text})
	}
	return append(items, model.Item{Kind: model.User, Text: "go on"})
}
