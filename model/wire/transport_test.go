package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"codeagent/model"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func request(ctx context.Context, t *testing.T) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://provider.invalid/v1/chat/completions?key=query-secret", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// answers is a base transport that answers with body.
func answers(status int, header http.Header, body io.Reader) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(body), Request: r}, nil
	})
}

func body(t *testing.T, tr *transport) (string, error) {
	t.Helper()
	resp, err := tr.RoundTrip(request(t.Context(), t))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

func TestRepairedBody(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in, want string
		err      error
	}{
		"plain":              {"data: {\"choices\":[]}\n\ndata: [DONE]\n\n", "data: {\"choices\":[]}\n\ndata: [DONE]\n\n", nil},
		"after done":         {"data: [DONE]\n\ndata: {\"choices\":[]}\n\n", "data: [DONE]\n\n", nil},
		"no done":            {"data: {\"choices\":[]}\n\n", "data: {\"choices\":[]}\n\n", io.ErrUnexpectedEOF},
		"comments and names": {": x\n\nevent: chunk\ndata: {\"choices\":[]}\n\ndata: [DONE]\n\n", "data: {\"choices\":[]}\n\ndata: [DONE]\n\n", nil},
		"lines":              {"data: {\ndata: \"choices\":[]}\n\ndata: [DONE]\n\n", "data: { \"choices\":[]}\n\ndata: [DONE]\n\n", nil},
		"error null first":   {"data: {\"error\":null,\"choices\":[]}\n\ndata: [DONE]\n\n", "data: { \"error\":null,\"choices\":[]}\n\ndata: [DONE]\n\n", nil},
		"one JSON answer":    {"\xEF\xBB\xBF{\"choices\":\n[]}", "data: {\"choices\": []}\n\ndata: [DONE]\n\n", nil},
		"nothing":            {"", "", io.ErrUnexpectedEOF},
		"not UTF-8":          {"data: {\"choices\":[\"a\xFFb\"]}\n\ndata: [DONE]\n\n", "data: {\"choices\":[\"a\uFFFDb\"]}\n\ndata: [DONE]\n\n", nil},
		"one, not UTF-8":     {"{\"choices\":[\"\xE4\xB8\"]}", "data: {\"choices\":[\"\uFFFD\"]}\n\ndata: [DONE]\n\n", nil},
	} {
		got, err := body(t, &transport{Base: answers(200, http.Header{}, strings.NewReader(c.in))})
		if got != c.want || err != c.err {
			t.Errorf("%s: %q, %v; want %q, %v", name, got, err, c.want, c.err)
		}
	}
}

// An error after good events comes after them.
func TestErrorAfterEvents(t *testing.T) {
	t.Parallel()
	in := "data: {\"choices\":[1]}\n\ndata: {\"choices\":[2]}\n\ndata: {\"error\":\"x\"}\n\n"
	got, err := body(t, &transport{Base: answers(200, http.Header{}, strings.NewReader(in))})
	if e := new(model.Error); !strings.Contains(got, "[2]") || !errors.As(err, &e) || e.Message != "x" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestEventsAboveTheLimit(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"event":  "data: {\"choices\":\"" + strings.Repeat("x", 70_000) + "\"}\n\n",
		"answer": "{\"choices\":\"" + strings.Repeat("x", 70_000) + "\"}",
	} {
		_, err := body(t, &transport{Base: answers(200, http.Header{}, strings.NewReader(in)), MaxEvent: 64 << 10})
		e := new(model.Error)
		if !errors.As(err, &e) || e.Kind != model.ServerFault || !errors.Is(err, errEventSize) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSilenceEndsARequest(t *testing.T) {
	t.Parallel()
	for name, base := range map[string]http.RoundTripper{
		"before the answer": roundTrip(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}),
		"within it": roundTrip(func(r *http.Request) (*http.Response, error) {
			pr, pw := io.Pipe()
			_ = context.AfterFunc(r.Context(), func() { pw.CloseWithError(r.Context().Err()) })
			go func() { // ends with the pipe
				for range 3 { // events come slower than the limit in all, but not one by one
					time.Sleep(40 * time.Second)
					_, _ = io.WriteString(pw, "data: {\"choices\":[]}\n\n")
				}
			}()
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: pr, Request: r}, nil
		}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				_, err := body(t, &transport{Base: base, Idle: time.Minute})
				took, want := time.Since(start), time.Minute
				if name == "within it" {
					want += 2 * time.Minute
				}
				e := new(model.Error)
				if !errors.As(err, &e) || e.Kind != model.Transport || !strings.Contains(e.Message, "said nothing for 1m0s") || took != want {
					t.Errorf("after %s: %v", took, err)
				}
			})
		})
	}
}

// Comments show that the provider is alive, but are accepted only for a limited time.
func TestCommentsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		base := roundTrip(func(r *http.Request) (*http.Response, error) {
			pr, pw := io.Pipe()
			_ = context.AfterFunc(r.Context(), func() { pw.CloseWithError(r.Context().Err()) })
			go func() { // ends with the pipe
				for n := 0; ; n++ {
					text := ": keep-alive\n\n"
					if n == 4 { // an event in time begins the count anew
						text = "data: {\"choices\":[]}\n\n"
					}
					if _, err := io.WriteString(pw, text); err != nil {
						return
					}
					time.Sleep(25 * time.Second)
				}
			}()
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: pr, Request: r}, nil
		})
		start := time.Now()
		_, err := body(t, &transport{Base: base, Idle: time.Minute})
		e := new(model.Error)
		if took := time.Since(start); !errors.As(err, &e) || e.Kind != model.Transport || !strings.Contains(e.Message, "said nothing for 3m0s") || took != 280*time.Second {
			t.Errorf("after %s: %v", took, err)
		}
		time.Sleep(time.Minute) // for the provider to end
	})
}

// A slow consumer does not count as a silent provider.
func TestSlowConsumerIsNotSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := &transport{Base: answers(200, http.Header{}, strings.NewReader("data: {\"choices\":[]}\n\ndata: [DONE]\n\n")), Idle: time.Second}
		resp, err := tr.RoundTrip(request(t.Context(), t))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		time.Sleep(time.Hour)
		if _, err := io.ReadAll(resp.Body); err != nil {
			t.Error(err)
		}
	})
}

func TestNoErrorShowsASecret(t *testing.T) {
	t.Parallel()
	const key = "sk-very-secret"
	base := map[string]http.RoundTripper{
		"status":     answers(401, http.Header{}, strings.NewReader(`{"error":{"message":"bad key sk-very-secret"}}`)),
		"event":      answers(200, http.Header{}, strings.NewReader("data: {\"error\":\"sk-very-secret\"}\n\n")),
		"page":       answers(200, http.Header{}, strings.NewReader("<title>sk-very-secret</title>")),
		"redirect":   answers(302, http.Header{"Location": {"http://x/?key=sk-very-secret"}}, strings.NewReader("")),
		"connection": roundTrip(func(r *http.Request) (*http.Response, error) { return nil, errors.New("proxy says sk-very-secret") }),
		"url": roundTrip(func(r *http.Request) (*http.Response, error) {
			return nil, &url.Error{Op: "Post", URL: r.URL.String(), Err: errors.New("no")}
		}),
	}
	for name, b := range base {
		client := &http.Client{Transport: &transport{Base: b, Secrets: []string{key, "query-secret"}}}
		resp, err := client.Do(request(t.Context(), t))
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
		}
		err = asError(t.Context(), err)
		for e := err; e != nil; e = errors.Unwrap(e) {
			if text := e.Error(); strings.Contains(text, key) || strings.Contains(text, "query-secret") {
				t.Errorf("%s: %s", name, text)
			}
		}
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestXShouldRetry(t *testing.T) {
	t.Parallel()
	_, err := body(t, &transport{Base: answers(500, http.Header{"X-Should-Retry": {"false"}}, strings.NewReader("no"))})
	if e := new(model.Error); !errors.As(err, &e) || !errors.As(e.Err, &final{}) {
		t.Errorf("%#v", err)
	}
}
