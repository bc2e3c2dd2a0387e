package acp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"codeagent/internal/picture"
	"codeagent/internal/short"

	sdk "github.com/coder/acp-go-sdk"
)

type promptParams struct {
	SessionID string            `json:"sessionId"`
	Prompt    []json.RawMessage `json:"prompt"`
}

// embeddedMost bounds the text of one embedded resource, in bytes.
const embeddedMost = 1 << 20

// message reads the prompt. A block of a kind that was not offered is refused, not left out: the
// user would believe that the model sees it.
func (p promptParams) message(ctx context.Context) (Message, *Error) {
	var in Message
	var text []string
	for i, raw := range p.Prompt {
		var kind struct {
			Type string `json:"type"`
		}
		var b sdk.ContentBlock
		// The type is looked at first: without one, the SDK takes a block for text.
		if json.Unmarshal(raw, &kind) != nil || kind.Type == "" || json.Unmarshal(raw, &b) != nil {
			return in, errorf(codeParams, "block %d of the prompt cannot be read", i+1)
		}
		var err error
		switch {
		case kind.Type == "text" && b.Text != nil:
			text = append(text, b.Text.Text)
		case kind.Type == "image" && b.Image != nil:
			err = in.addImage(ctx, b.Image.Data, fmt.Sprintf("image %d", len(in.Images)+1))
		case kind.Type == "resource_link" && b.ResourceLink != nil:
			text = append(text, linked(*b.ResourceLink))
		case kind.Type == "resource" && b.Resource != nil && b.Resource.Resource.TextResourceContents != nil:
			r := b.Resource.Resource.TextResourceContents
			text = append(text, embedded(place(r.Uri), r.Text))
		case kind.Type == "resource" && b.Resource != nil && b.Resource.Resource.BlobResourceContents != nil:
			r := b.Resource.Resource.BlobResourceContents
			err = in.addImage(ctx, r.Blob, place(r.Uri))
		default:
			return in, errorf(codeParams, "block %d of the prompt is of the type %q, which is not supported", i+1, short.Bound(kind.Type, 100))
		}
		if err != nil {
			return in, errorf(codeParams, "block %d of the prompt: %v", i+1, err)
		}
	}
	in.Text = strings.Join(text, "\n")
	return in, nil
}

// addImage adds an image to the message.
func (in *Message) addImage(ctx context.Context, data, name string) error {
	file, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return err
	}
	img, err := picture.Read(ctx, name, file)
	if err != nil {
		return err
	}
	in.Images = append(in.Images, img)
	return nil
}

// linked names a resource that the model can read by itself.
func linked(l sdk.ContentBlockResourceLink) string {
	where := place(l.Uri)
	if l.Name == "" || strings.HasSuffix(where, "/"+l.Name) || l.Name == where {
		return "@" + where
	}
	return "@" + where + " (" + l.Name + ")"
}

// embedded is the text of a resource, with where it comes from.
func embedded(where, text string) string {
	if len(text) > embeddedMost {
		text = short.Head(text, embeddedMost) + fmt.Sprintf("\n[%s more are left out]", short.Size(int64(len(text)-embeddedMost)))
	}
	return fmt.Sprintf("<file path=%q>\n%s\n</file>", where, text)
}

// place is the path of a file's URI, and any other URI as it is. The fragment, which names lines
// in some editors, stays.
func place(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" {
		return uri
	}
	if u.Fragment != "" {
		return u.Path + "#" + u.Fragment
	}
	return u.Path
}
