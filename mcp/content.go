package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"codeagent/internal/picture"
	"codeagent/internal/short"
	"codeagent/model"
)

// maxImages bounds the images of one result; maxParts the entries of its content.
const (
	maxImages = 10
	maxParts  = 1000
)

// contentCollector collects content as text and images.
type contentCollector struct {
	b      strings.Builder
	images []model.Image
	full   bool
}

// content makes a result of what a server sent.
func (c *Client) content(ctx context.Context, parts []sdk.Content) Result {
	var g contentCollector
	for i, p := range parts {
		if i == maxParts {
			g.say(fmt.Sprintf("[the entries after the first %d are left out]", maxParts))
			break
		}
		g.add(ctx, p)
	}
	return Result{Text: g.b.String(), Images: g.images}
}

// add takes one entry.
func (g *contentCollector) add(ctx context.Context, p sdk.Content) {
	switch p := p.(type) {
	case *sdk.TextContent:
		g.say(text(p.Text, maxText))
	case *sdk.ImageContent:
		g.image(ctx, p.MIMEType, p.Data)
	case *sdk.AudioContent:
		g.say(described("audio", p.MIMEType, len(p.Data)))
	case *sdk.ResourceLink:
		said := "[resource " + line(p.URI, maxTitle)
		for _, s := range []string{p.Name, p.Title, p.Description} {
			if s != "" {
				said += ", " + line(s, maxTitle)
			}
		}
		g.say(said + "]")
	case *sdk.EmbeddedResource:
		g.resource(ctx, p.Resource)
	default:
		g.say("[content of a kind that is not known here]")
	}
}

// resource takes the content of a resource.
func (g *contentCollector) resource(ctx context.Context, r *sdk.ResourceContents) {
	switch {
	case r == nil:
	case r.Blob == nil:
		g.say("[resource " + line(r.URI, maxTitle) + "]")
		g.say(text(r.Text, maxText))
	case strings.HasPrefix(r.MIMEType, "text/") && utf8.Valid(r.Blob):
		g.say("[resource " + line(r.URI, maxTitle) + "]")
		g.say(text(string(r.Blob), maxText))
	case picture.Type(r.Blob) != "":
		g.say("[resource " + line(r.URI, maxTitle) + "]")
		g.image(ctx, r.MIMEType, r.Blob)
	default:
		g.say(described("resource "+line(r.URI, maxTitle), r.MIMEType, len(r.Blob)))
	}
}

// image takes an image, made fit for a model. What it is, its bytes say, not the server.
func (g *contentCollector) image(ctx context.Context, mediaType string, data []byte) {
	if len(g.images) == maxImages {
		g.say(fmt.Sprintf("[an image is left out: a result holds at most %d]", maxImages))
		return
	}
	img, err := picture.Read(ctx, fmt.Sprintf("image %d", len(g.images)+1), data)
	if err != nil {
		g.say(described("image", mediaType, len(data)) + " (" + line(err.Error(), maxTitle) + ")")
		return
	}
	g.images = append(g.images, img)
	g.say("[" + img.String() + "]")
}

// say adds a line or several, as long as there is room.
func (g *contentCollector) say(s string) {
	if s == "" || g.full {
		return
	}
	if g.b.Len() > 0 {
		g.b.WriteByte('\n')
	}
	if left := maxText - g.b.Len(); len(s) > left {
		g.full = true
		s = short.Head(s, left) + "\n[the rest is left out: more than " + short.Size(maxText) + "]"
	}
	g.b.WriteString(s)
}

// repeats reports whether one of the texts among parts is the structured content v, or the only
// member of it: servers send both, for clients that read one of them.
func repeats(parts []sdk.Content, v any) bool {
	values := []any{v}
	if object, ok := v.(map[string]any); ok && len(object) == 1 {
		for _, member := range object {
			values = append(values, member)
		}
	}
	for _, p := range parts {
		t, ok := p.(*sdk.TextContent)
		if !ok || len(t.Text) > maxText {
			continue
		}
		var parsed any
		isJSON := json.Unmarshal([]byte(t.Text), &parsed) == nil
		for _, value := range values {
			if s, ok := value.(string); ok && strings.TrimSpace(s) == strings.TrimSpace(t.Text) || isJSON && reflect.DeepEqual(parsed, value) {
				return true
			}
		}
	}
	return false
}

// described are words for what a model cannot read.
func described(what, mediaType string, size int) string {
	if mediaType != "" {
		what += ", " + line(mediaType, maxName)
	}
	return fmt.Sprintf("[%s, %s: not shown]", what, short.Size(int64(size)))
}
