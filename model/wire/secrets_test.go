package wire

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// wordless returns a key of n characters in which no pair of characters repeats, so that any
// part of it is recognised.
func wordless(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%c%c%d", 'A'+i%26, 'Q'-i/26%17, i%10)
	}
	return b.String()[:n]
}

// showsPart reports a part of key, of minSecret characters and more, in text.
func showsPart(text, key string) string {
	for i := range len(key) - minSecret + 1 {
		if part := key[i : i+minSecret]; strings.Contains(text, part) {
			return part
		}
	}
	return ""
}

// TestNoErrorShowsAPartOfASecret: wherever a text is cut, a key across the cut is removed
// first.
func TestNoErrorShowsAPartOfASecret(t *testing.T) {
	t.Parallel()
	key, long := wordless(48), wordless(3000)
	message := func(status int, form string) func(string) http.RoundTripper {
		return func(text string) http.RoundTripper {
			return answers(status, http.Header{}, strings.NewReader(strings.ReplaceAll(form, "TEXT", text)))
		}
	}
	ways := map[string]func(text string) http.RoundTripper{
		"status":       message(401, `{"error":{"message":"TEXT"}}`),
		"plain text":   message(500, `TEXT`),
		"event":        message(200, "data: {\"error\":\"TEXT\"}\n\n"),
		"failed":       message(200, "data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"message\":\"TEXT\"}}}\n\n"),
		"whole answer": message(200, `{"error":{"message":"TEXT"}}`),
		"title":        message(200, "<title>TEXT</title>"),
		"page":         message(502, "<p>TEXT</p>"),
		"page event":   message(200, "event: error\ndata: <p>TEXT</p>\n\n"),
		"redirect": func(text string) http.RoundTripper {
			return answers(302, http.Header{"Location": {text}}, strings.NewReader("<title>moved</title>"))
		},
		"connection": func(text string) http.RoundTripper {
			return roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New(text) })
		},
	}
	for name, way := range ways {
		try := func(what, text, secret string) {
			t.Helper()
			_, err := body(t, &transport{Base: way(text), Secrets: []string{"", key[:10], key, long}})
			if err == nil || err == io.ErrUnexpectedEOF {
				t.Fatalf("%s, %s: %v", name, what, err)
			}
			for e := err; e != nil; e = errors.Unwrap(e) {
				if part := showsPart(e.Error(), secret); part != "" {
					t.Errorf("%s, %s: %q is shown: …%s", name, what, part, e.Error()[max(0, len(e.Error())-100):])
				}
			}
		}
		for _, border := range []int{200, maxMessage, 4 * maxMessage, maxErrorBody} {
			for _, before := range []int{0, 20, 42, 60, 100} {
				try(fmt.Sprintf("%d before %d", before, border), strings.Repeat("x", border-before)+" key "+key, key)
				try(fmt.Sprintf("blanks, %d before %d", before, border), strings.Repeat(" ", border-before)+"key "+key, key)
			}
		}
		try("the longest first", "key "+key, key)
		try("held apart", "key "+strings.Join(strings.Split(key, ""), "\u200b"), key)
		try("again and again", strings.Repeat(long+" ", 40), long)
	}
}

// TestSecretsOfAQuery: the decoded and the encoded form of a query differ, and both are
// secret.
func TestSecretsOfAQuery(t *testing.T) {
	t.Parallel()
	base, err := url.Parse("https://h/v1?key=abc%2Bdef%2F&v=1&token=plain-token")
	if err != nil {
		t.Fatal(err)
	}
	got := secrets(Options{}, base)
	for _, want := range []string{"abc%2Bdef%2F", "abc+def/", "plain-token"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not among the secrets %q", want, got)
		}
	}
}
