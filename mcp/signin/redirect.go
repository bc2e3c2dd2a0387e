package signin

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"codeagent/internal/short"
	"codeagent/internal/visible"
)

// answer waits on loopback for the redirect that ends a sign-in in the browser. Any program of this
// machine, and any page in the browser, can send a request there: what does not have the state of
// this sign-in is refused, and the wait goes on.
type answer struct {
	url    string
	host   string
	server *http.Server
	state  atomic.Pointer[string] // nil until the page is shown
	came   chan url.Values
}

// listen opens the port of the answer. A goroutine serves it until close.
func listen(port int) (*answer, error) {
	l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, err
	}
	a := &answer{host: l.Addr().String(), came: make(chan url.Values, 1)}
	a.url = "http://" + a.host + "/callback"
	a.server = &http.Server{Handler: a, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, MaxHeaderBytes: 16 << 10}
	go func() { _ = a.server.Serve(l) }() // until close
	return a, nil
}

// close ends the server, after an answer that is being written.
func (a *answer) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if a.server.Shutdown(ctx) != nil {
		a.server.Close()
	}
}

func (a *answer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	q, state := r.URL.Query(), a.state.Load()
	if state == nil || r.Method != http.MethodGet || r.Host != a.host || r.URL.Path != "/callback" ||
		subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(*state)) != 1 {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintln(w, "This is not the answer to a sign-in of codeagent.")
		return
	}
	select {
	case a.came <- q:
	default: // the first answer counts
	}
	fmt.Fprintln(w, "codeagent has the answer. You can close this page and go back to the terminal.")
}

// fetch shows the page and waits for the answer. It is an auth.AuthorizationCodeFetcher.
func (a *answer) fetch(ctx context.Context, page string, show func(page, host string)) (*auth.AuthorizationResult, error) {
	u, err := url.Parse(page)
	if err != nil || !safe(u) || len(page) > maxPage || visible.Line(page) != page {
		return nil, errors.New("the authorization server names a page that cannot be opened")
	}
	state := u.Query().Get("state")
	if state == "" {
		return nil, errors.New("bug: a sign-in without a state")
	}
	a.state.Store(&state)
	show(page, visible.Line(u.Host))
	select {
	case q := <-a.came:
		if said := q.Get("error"); said != "" {
			return nil, fmt.Errorf("the sign-in was refused: %s", visible.Line(short.Cut(said+" "+q.Get("error_description"), 200)))
		}
		return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
