package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"codeagent/approvals"
	"codeagent/egress"
	"codeagent/event/word"
	"codeagent/internal/webtext"
	"codeagent/sandbox"
)

const fetchURLExample = `{"url": "https://pkg.go.dev/net/http", "justification": "the documentation of the package that the task is about"}`

type fetchURLArguments struct {
	URL           string `json:"url" jsonschema:"The page, with http:// or https:// in front."`
	Offset        int    `json:"offset,omitempty" jsonschema:"Where to go on in the text of a page that was returned in part, as its result says."`
	Raw           bool   `json:"raw,omitempty" jsonschema:"Return HTML as its source, not as text."`
	Justification string `json:"justification,omitempty" jsonschema:"One sentence for the user: why this page is needed. They decide by it whether its host is reached."`
}

// Fetcher fetches pages; the implementation is *egress.Fetcher. Its errors are shown outside the
// frame that marks untrusted text, so they contain no text from a server.
type Fetcher interface {
	Fetch(ctx context.Context, p sandbox.Policy, a egress.Address) (egress.Page, error)
}

type fetchURLTool struct{ read pageCache }

func (t *fetchURLTool) plan(a fetchURLArguments) (*call, error) {
	if a.Offset < 0 {
		return nil, fmt.Errorf("the argument \"offset\" must be positive, not %d", a.Offset)
	}
	address, err := egress.Parse(a.URL)
	if err != nil {
		return nil, fmt.Errorf("url: %w. Example: %s", err, fetchURLExample)
	}
	title := "fetch " + address.URL
	if a.Offset > 0 {
		title += fmt.Sprintf(" from byte %d", a.Offset)
	}
	action := approvals.Action{
		Tool: "fetch_url", Kind: word.KindFetch, Title: oneLine(title), Command: address.URL,
		Wish: approvals.Wish{Hosts: []string{address.Host.String()}, Justification: strings.TrimSpace(a.Justification)},
	}
	return &call{action: action, run: func(ctx context.Context, p sandbox.Policy, s Stage) (Result, error) {
		return t.run(ctx, p, s, address, a)
	}}, nil
}

func (t *fetchURLTool) run(ctx context.Context, p sandbox.Policy, s Stage, address egress.Address, a fetchURLArguments) (Result, error) {
	if s.Fetch == nil {
		return failed("pages cannot be fetched here"), nil
	}
	key := fetchedKey{address.URL, a.Raw}
	if r, ok := t.read.get(key, p); ok && a.Offset > 0 {
		return r.result(a.Offset), nil
	}
	page, err := s.Fetch.Fetch(ctx, p, address)
	var refused *egress.RefusedError
	switch {
	case ctx.Err() != nil:
		return Result{}, context.Cause(ctx)
	case errors.As(err, &refused):
		r := failed("%s was not fetched: %s.", address.URL, plainly(refused))
		r.Outcome = word.Refused
		return r, nil
	case err != nil:
		return failed("%s cannot be fetched: %s", address.URL, plainly(err)), nil
	case page.Elsewhere != "":
		return failed("%s redirects to another place and was not followed. If you need what is there, fetch this URL; it may have to be allowed first.\n%s",
			address.URL, framed(page.Elsewhere)), nil
	}
	r := readPage(page, address.URL, a.Raw)
	t.read.put(key, r)
	return r.result(a.Offset), nil
}

// plainly returns an error as one line of visible characters. Its text is from egress, but a server
// may have chosen the host names in it.
func plainly(err error) string { return strings.TrimRight(oneLine(webtext.Visible(err.Error())), ".") }
