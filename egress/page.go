package egress

import (
	"context"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
)

// Page is what was fetched.
type Page struct {
	// URL is where it was in the end.
	URL Address
	// Status is the answer's, StatusText the standard's words for it.
	Status     int
	StatusText string
	// Elsewhere is where it redirects to, when that was not followed.
	Elsewhere string
	// Type is the media type in lower case without parameters, ContentType as it
	// was sent: it may name the charset. A missing one is guessed.
	Type, ContentType string
	// Body is unpacked and at most maxBody bytes; of what is Opaque only the beginning.
	Body []byte
	// Size is what the server says the size is, -1 where it does not.
	Size int64
	// Cut: the page is longer than Body.
	Cut bool
	// Broken says in codeagent's own words why it ended early; empty when it did not.
	Broken string
}

// Text reports a media type that is read as text.
func (p Page) Text() bool {
	main, sub, _ := strings.Cut(p.Type, "/")
	if main == "text" || p.Type == "image/svg+xml" {
		return true
	}
	return slices.ContainsFunc([]string{"json", "xml", "javascript", "ecmascript", "yaml", "toml"}, func(word string) bool {
		return sub == word || strings.HasSuffix(sub, "+"+word) || strings.HasSuffix(sub, "-"+word)
	})
}

// Opaque reports a media type that is never text. For other types the content decides.
func (p Page) Opaque() bool {
	main, sub, _ := strings.Cut(p.Type, "/")
	switch main {
	case "image", "audio", "video", "font":
		return !p.Text()
	}
	return slices.Contains([]string{"pdf", "zip", "gzip", "x-gzip", "x-tar", "x-xz", "x-bzip2", "zstd", "wasm", "x-7z-compressed", "java-archive"}, sub)
}

// read takes up the answer.
func read(ctx context.Context, at Address, resp *http.Response) (Page, error) {
	p := Page{
		URL: at, Status: resp.StatusCode, StatusText: http.StatusText(resp.StatusCode), Size: resp.ContentLength,
		ContentType: resp.Header.Get("Content-Type"),
	}
	if packed := resp.Header.Get("Content-Encoding"); packed != "" && !strings.EqualFold(packed, "identity") {
		return Page{}, failure("unsupported Content-Encoding")
	}
	p.Type = mediaType(p.ContentType)
	limit := maxBody
	if p.Opaque() {
		limit = maxHead
	}
	var err error
	p.Body, err = io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1))
	if len(p.Body) > limit {
		p.Body, p.Cut = p.Body[:limit], true
	}
	if err != nil {
		if len(p.Body) == 0 {
			return Page{}, err
		}
		if p.Broken = plain(err).Error(); ctx.Err() != nil {
			p.Broken = context.Cause(ctx).Error()
		}
	}
	if p.Type == "" || p.Type == "application/octet-stream" {
		p.ContentType = http.DetectContentType(p.Body)
		p.Type = mediaType(p.ContentType)
	}
	return p, nil
}

// mediaType is the type without its parameters; one that is not well formed is
// read as far as it goes.
func mediaType(content string) string {
	kind, _, err := mime.ParseMediaType(content)
	if err != nil {
		kind, _, _ = strings.Cut(content, ";")
		kind = strings.ToLower(strings.TrimSpace(kind))
	}
	return kind
}
