package serve

import (
	"context"
	"sync"

	"codeagent/internal/short"
	"codeagent/internal/visible"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLines is how many lines of progress wait for a slow client; the oldest are dropped.
const maxLines = 16

// lines are the lines of progress that no request has shown yet.
type lines struct {
	mu   sync.Mutex
	list []string
	sent int
	more chan struct{} // of the request that shows them; nil: none does
}

func (l *lines) add(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, visible.Line(short.Cut(text, 300)))
	if len(l.list) > maxLines {
		l.list = l.list[1:]
	}
	if l.more != nil {
		select {
		case l.more <- struct{}{}:
		default:
		}
	}
}

func (l *lines) take() (text string, n int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) == 0 {
		return "", 0, false
	}
	text, l.list = l.list[0], l.list[1:]
	l.sent++
	return text, l.sent, true
}

// show sends the progress of r for one request that asked for it. stop ends that: nothing is sent
// after it returned.
func (s *server) show(ctx context.Context, req *mcp.CallToolRequest, r *run) (stop func()) {
	token, ok := token(req)
	if !ok {
		return func() {}
	}
	more, over, ended := make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	more <- struct{}{} // what was said before
	r.lines.mu.Lock()
	r.lines.more = more
	r.lines.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	send := func() {
		for ctx.Err() == nil {
			text, n, ok := r.lines.take()
			if !ok {
				return
			}
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(n), Message: text})
		}
	}
	go func() {
		defer close(ended)
		for {
			select {
			case <-more:
				send()
			case <-over:
				send()
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		r.lines.mu.Lock()
		r.lines.more = nil
		r.lines.mu.Unlock()
		close(over)
		<-ended
		cancel()
	}
}

// token returns the progress token of a request, which each line of progress repeats.
func token(req *mcp.CallToolRequest) (any, bool) {
	t := req.Params.GetProgressToken()
	return t, t != nil
}
