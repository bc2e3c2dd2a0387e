package serve

import (
	"context"

	"codeagent/internal/short"
	"codeagent/internal/visible"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLines is how many lines of progress wait for a slow client; others are dropped meanwhile.
const maxLines = 16

// lines are the lines of progress that no request has shown yet.
type lines struct {
	waiting chan string
	sent    int // of all requests, one at a time
}

func (l *lines) add(text string) {
	select {
	case l.waiting <- visible.Line(short.Cut(text, 300)):
	default:
	}
}

// show sends the progress of r for one request that asked for it. stop ends that: nothing is sent
// after it returned.
func (s *server) show(ctx context.Context, req *mcp.CallToolRequest, r *run) (stop func()) {
	token, ok := token(req)
	if !ok {
		return func() {}
	}
	over, ended := make(chan struct{}), make(chan struct{})
	send := func(text string) {
		r.lines.sent++
		_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(r.lines.sent), Message: text})
	}
	go func() {
		defer close(ended)
		for {
			select {
			case text := <-r.lines.waiting:
				send(text)
			case <-over:
				for len(r.lines.waiting) > 0 && ctx.Err() == nil {
					send(<-r.lines.waiting)
				}
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		close(over)
		<-ended
	}
}

// token returns the progress token of a request, which each line of progress repeats.
func token(req *mcp.CallToolRequest) (any, bool) {
	t := req.Params.GetProgressToken()
	return t, t != nil
}
