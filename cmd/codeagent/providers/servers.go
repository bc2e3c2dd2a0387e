package providers

import (
	"context"
	"fmt"
	"sync"
	"time"

	"codeagent/config"
	"codeagent/internal/visible"
	"codeagent/model/chat"
)

// lookTime bounds the search for servers on this machine: a listening server answers at
// once, and the search must not delay the start.
const lookTime = 400 * time.Millisecond

// Servers asks the usual loopback ports which models are served there, without a key. The
// returned function waits for the answer: a line for each server, in the order of the list
// of providers.
func (ps Providers) Servers(ctx context.Context) func() []string {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	servers := ps.cfg.LocalServers()
	lines := make([]string, len(servers))
	var all sync.WaitGroup
	for i, p := range servers {
		all.Go(func() { lines[i] = offer(ctx, p) }) // ends with ctx
	}
	return sync.OnceValue(func() []string {
		all.Wait()
		cancel()
		var found []string
		for _, l := range lines {
			if l != "" {
				found = append(found, l)
			}
		}
		return found
	})
}

// offer says how to use the server of p; "" if it does not answer.
func offer(ctx context.Context, p config.Provider) string {
	client := chat.New(chat.Options{BaseURL: p.BaseURL})
	defer client.Close()
	models, err := client.Models(ctx)
	if err != nil || len(models) == 0 {
		return ""
	}
	more := ""
	switch n := len(models) - 1; {
	case n == 1:
		more = " (or the other one)"
	case n > 1:
		more = fmt.Sprintf(" (or one of %d others)", n)
	}
	return fmt.Sprintf("%s runs on this machine: --model %s/%s%s asks it", p.Title, p.Name, visible.Line(models[0]), more)
}
