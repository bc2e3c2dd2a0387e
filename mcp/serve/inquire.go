package serve

import (
	"context"
	"crypto/rand"
	"errors"

	"codeagent/mcp/inquiry"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// inquirer returns Call.Inquire.
func (s *server) inquirer(req *mcp.CallToolRequest, r *run) func(context.Context, inquiry.Question) (inquiry.Reply, error) {
	return func(ctx context.Context, q inquiry.Question) (inquiry.Reply, error) {
		var p *mcp.ElicitParams
		c := req.ClientCapabilities()
		switch {
		case q.URL == "" && asks(req):
			p = &mcp.ElicitParams{Mode: "form", Message: q.Message, RequestedSchema: q.Schema()}
		case q.URL != "" && c != nil && c.Elicitation != nil && c.Elicitation.URL != nil:
			p = &mcp.ElicitParams{Mode: "url", Message: q.Message, URL: q.URL, ElicitationID: rand.Text()}
		default:
			return inquiry.Reply{}, errors.New("the client cannot show such a question (its elicitation does not include it)")
		}
		res, err := s.put(ctx, req, r, p)
		if res != nil && (res.Action == inquiry.Accepted || res.Action == inquiry.Declined) {
			if reply, wrong := q.Answer(res.Action, res.Content); wrong == nil {
				return reply, err
			}
		}
		return inquiry.Reply{Action: inquiry.Cancelled}, err
	}
}
