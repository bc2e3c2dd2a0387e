package mcp

import (
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	rpc "codeagent/internal/jsonrpc"
)

// maxOutline bounds the outline of a message, in bytes.
const maxOutline = 4 << 10

// outline keeps the top level of a JSON object that arrives in pieces, with null for each nested value. It
// stands for a message that is too large or too deep to read.
type outline struct {
	text []byte
	at   rpc.Nesting
}

// add takes another piece.
func (o *outline) add(data []byte) {
	for _, b := range data {
		before := o.at.Depth
		o.at.Next(b)
		switch {
		case before == 1 && o.at.Depth == 2:
			o.keep([]byte("null")...)
		case before <= 1:
			o.keep(b)
		}
	}
}

func (o *outline) keep(b ...byte) {
	if len(o.text) <= maxOutline {
		o.text = append(o.text, b...)
	}
}

// instead returns the answer that stands in place of the one that the message is, and says why it is
// not read. A message that is not an answer has none. Without it a call would wait for its time limit.
func (o *outline) instead(why string) []jsonrpc.Message {
	var m struct {
		ID     any             `json:"id"`
		Method json.RawMessage `json:"method"`
	}
	if json.Unmarshal(o.text, &m) != nil || m.Method != nil {
		return nil
	}
	id, err := jsonrpc.MakeID(m.ID)
	if err != nil || !id.IsValid() {
		return nil
	}
	return []jsonrpc.Message{&jsonrpc.Response{ID: id, Error: errors.New("its answer cannot be read: " + why)}}
}
