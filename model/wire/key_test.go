package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"codeagent/model"
)

// A key printed by a program is requested once, and again when the provider rejects it; the
// request is then sent again in full.
func TestKeyIsAskedForAgainWhenItIsRefused(t *testing.T) {
	t.Parallel()
	asked, good := 0, "key-number-2"
	var bodies []string
	base := roundTrip(func(r *http.Request) (*http.Response, error) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		status, text := 200, "data: {\"choices\":[]}\n\ndata: [DONE]\n\n"
		if got := r.Header.Get("Authorization"); got != "Bearer "+good {
			status, text = 401, `{"error":{"message":"no good: `+got+`"}}`
		}
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
	})
	keys := []string{"key-number-1\n", "key-number-2\n", "key-number-2\n", "two\nlines"}
	e := newEndpoint(Options{BaseURL: "http://x/v1", HTTP: &http.Client{Transport: base}, KeyFrom: func(context.Context) (string, error) {
		asked++
		return keys[min(asked, len(keys))-1], nil
	}}, "/chat/completions")
	send := func() error {
		resp, err := e.requests.Do(request(t.Context(), t))
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	for range 3 {
		if err := send(); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 2 || len(bodies) != 4 || bodies[1] != "{}" {
		t.Errorf("asked %d times, requests %q", asked, bodies)
	}
	// A repeated rejection is the provider's error, and shows no key.
	good = "another"
	err := send()
	if f := new(model.Error); !errors.As(err, &f) || f.Kind != model.SignIn || strings.Contains(err.Error(), "key-number") || asked != 3 {
		t.Errorf("asked %d times: %v", asked, err)
	}
	// An invalid key is not sent.
	before := len(bodies)
	asked = 3
	if err = send(); err == nil || len(bodies) != before+1 {
		t.Errorf("%d more requests: %v", len(bodies)-before, err)
	}
}

func TestNoKey(t *testing.T) {
	t.Parallel()
	e := newEndpoint(Options{BaseURL: "http://x/v1", KeyFrom: func(context.Context) (string, error) { return "", errors.New("locked") }}, "/responses")
	for _, err := range e.retry.Stream(t.Context(), func(ctx context.Context, _ Yield) error {
		_, err := e.api.ListModels(ctx)
		return err
	}) {
		if f := new(model.Error); !errors.As(err, &f) || f.Kind != model.SignIn || !strings.Contains(f.Message, "no key: locked") {
			t.Errorf("%#v", err)
		}
	}
}

// A key or a header of two lines is not sent, and not tried again: no connection failed.
func TestHeadersOfTwoLines(t *testing.T) {
	t.Parallel()
	base := roundTrip(func(r *http.Request) (*http.Response, error) {
		t.Error("it was sent")
		return nil, io.EOF
	})
	for _, c := range []struct {
		header, value string
		kind          model.ErrorKind
	}{
		{"Authorization", "Bearer one\ntwo", model.SignIn},
		{"Authorization", "Bearer one\x00", model.SignIn},
		{"X-Team", "one\r\ntwo", model.BadRequest},
	} {
		req := request(t.Context(), t)
		req.Header.Set(c.header, c.value)
		_, err := (&transport{Base: base}).RoundTrip(req)
		f := new(model.Error)
		if !errors.As(err, &f) || f.Kind != c.kind || f.Retryable() || strings.Contains(err.Error(), "two") {
			t.Errorf("%s: %q: %v", c.header, c.value, err)
		}
	}
}
