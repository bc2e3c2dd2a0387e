package wire

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
)

type amendment struct{}

// WithAmendment returns a context for one request whose body change may alter, for fields
// that go-openai does not have.
func WithAmendment(ctx context.Context, change func([]byte) ([]byte, error)) context.Context {
	return context.WithValue(ctx, amendment{}, change)
}

func amend(req *http.Request) error {
	change, ok := req.Context().Value(amendment{}).(func([]byte) ([]byte, error))
	if !ok || req.Body == nil {
		return nil
	}
	body, err := io.ReadAll(req.Body)
	if err == nil {
		body, err = change(body)
	}
	if err != nil {
		return fmt.Errorf("amend the request: %w", err)
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.ContentLength = int64(len(body))
	return nil
}
