// Package telemetry reports a session to an OpenTelemetry collector: it turns the events of
// a session into spans, and sends them as OTLP over HTTP in its JSON encoding. It
// is off unless a standard OTEL_* variable names a collector. It reaches exactly the
// addresses that these variables name. Start with New, then Observe in spans.go.
//
// The official SDK is not used: it would add 9 MB to a program of 19 MB.
//
// Spans have names of tools and models, counts, durations and outcomes. Messages, commands,
// paths and output are not sent.
package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"codeagent/internal/mask"
)

const (
	// mostQueued bounds the spans that wait. Later ones are dropped and counted.
	mostQueued = 2048
	// lastSend bounds the sending of what is left at the end.
	lastSend = 2 * time.Second
)

// Exporter observes a session. It is safe for concurrent use, and never waits for a network.
type Exporter struct {
	set     *settings
	version string
	mask    *mask.Mask
	client  *http.Client
	now     func() time.Time

	mu    sync.Mutex
	spans spans
	queue []*span
	// lost counts the spans that could not be sent; why is the first reason.
	lost int
	why  error

	send  chan struct{} // a turn has ended
	quit  chan struct{}
	ended chan struct{}
	stop  context.CancelFunc
}

// New returns an Exporter, or nil if the variables name no collector. problems are sentences
// about variables that it cannot follow. secrets is called only if there is an Exporter.
func New(env func(string) string, version string, secrets func() *mask.Mask) (x *Exporter, problems []string) {
	set, problems := read(env, version)
	if set == nil {
		return nil, problems
	}
	ctx, stop := context.WithCancel(context.Background())
	x = &Exporter{
		set: set, version: version, mask: secrets(), now: time.Now, stop: stop,
		send: make(chan struct{}, 1), quit: make(chan struct{}), ended: make(chan struct{}),
		client: &http.Client{
			Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the headers have keys
		},
	}
	x.spans.begin()
	go x.run(ctx)
	return x, problems
}

// Close sends what is left, for at most two seconds. It returns an error if anything could
// not be sent.
func (x *Exporter) Close() error {
	x.mu.Lock()
	x.finish()
	x.mu.Unlock()
	late := time.AfterFunc(lastSend, x.stop)
	defer late.Stop()
	close(x.quit)
	<-x.ended
	x.stop()
	x.client.CloseIdleConnections()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.why == nil {
		return nil
	}
	return fmt.Errorf("telemetry: not everything was sent (%d spans lost): %w", x.lost, x.why)
}

// run sends after each turn, and at the end.
func (x *Exporter) run(ctx context.Context) {
	defer close(x.ended)
	for over := false; !over; {
		select {
		case <-x.quit:
			over = true
		case <-x.send:
		}
		x.sendSpans(ctx)
	}
}

// enqueue takes an ended span; x.mu is held.
func (x *Exporter) enqueue(s *span) {
	if len(x.queue) >= mostQueued {
		x.fail(1, errors.New("too many were waiting"))
		return
	}
	x.queue = append(x.queue, s)
}

// wake has the queue sent; x.mu is held.
func (x *Exporter) wake() {
	select {
	case x.send <- struct{}{}:
	default:
	}
}

// fail counts lost spans; x.mu is held.
func (x *Exporter) fail(lost int, why error) {
	x.lost += lost
	if x.why == nil {
		x.why = why
	}
}

// sendSpans sends the queue. What the collector does not take is lost.
func (x *Exporter) sendSpans(ctx context.Context) {
	x.mu.Lock()
	batch := x.queue
	x.queue = nil
	x.mu.Unlock()
	if len(batch) == 0 {
		return
	}
	if err := x.post(ctx, traceRequest{[]resourceSpans{{resource{x.set.resource}, []scopeSpans{{scope{"codeagent", x.version}, batch}}}}}); err != nil {
		x.mu.Lock()
		x.fail(len(batch), err)
		x.mu.Unlock()
	}
}

// post sends one request. The error has no part of the address but its host.
func (x *Exporter) post(ctx context.Context, request any) error {
	t := x.set.target
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s: the address is not valid", t.host)
	}
	for k, v := range t.headers {
		r.Header.Set(k, v)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "codeagent/"+x.version)
	answer, err := x.client.Do(r)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err // without the address
		}
		if ctx.Err() != nil {
			err = errors.New("no answer in time")
		}
		return fmt.Errorf("%s: %s", t.host, x.line(err.Error()))
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10)) // so that the connection can be used again
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("%s answered with HTTP %d", t.host, answer.StatusCode)
	}
	return nil
}

// line returns text as one bounded line without secrets.
func (x *Exporter) line(s string) string { return shown(x.mask.Text(strings.TrimSpace(s))) }
