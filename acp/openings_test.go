package acp

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"codeagent/event"
)

// TestMessagesOfOpenings: a session that is opened again writes no message with the ID of an earlier one.
func TestMessagesOfOpenings(t *testing.T) {
	h := &fakeHost{turn: func(_ context.Context, face Face, in Message) (Stop, error) {
		face.Emit(event.MessageFinished{Text: in.Text})
		return StopDone, nil
	}}
	ids := map[string]string{}
	for _, text := range []string{"first", "second"} {
		c := connect(t, h, `{}`)
		c.send(`{"jsonrpc":"2.0","id":"r","method":"session/resume","params":{"sessionId":"kept","cwd":"/"}}`,
			strings.Replace(said("1", text), `"s1"`, `"kept"`, 1))
		var m struct {
			Params struct{ Update struct{ MessageID string } }
		}
		if err := json.Unmarshal([]byte(c.until("agent_message_chunk")), &m); err != nil || m.Params.Update.MessageID == "" {
			t.Fatalf("%v, %+v", err, m)
		}
		if before, ok := ids[m.Params.Update.MessageID]; ok {
			t.Errorf("%s and %s are both %s", before, text, m.Params.Update.MessageID)
		}
		ids[m.Params.Update.MessageID] = text
		c.end()
	}
}
