package acp

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"codeagent/internal/picture"
	"codeagent/internal/short"
	"codeagent/internal/visible"
)

type promptParams struct {
	SessionID string            `json:"sessionId"`
	Prompt    []json.RawMessage `json:"prompt"`
}

// embeddedMost bounds the text of one embedded resource, in bytes.
const embeddedMost = 1 << 20

// block is a content block. Members that only describe it, such as annotations, are ignored, so
// that a fault in them does not make the prompt invalid.
type block struct {
	Type     string  `json:"type"`
	Text     *string `json:"text"`
	Data     *string `json:"data"`
	URI      *string `json:"uri"`
	Name     *string `json:"name"`
	Resource *struct {
		URI  *string `json:"uri"`
		Text *string `json:"text"`
		Blob *string `json:"blob"`
	} `json:"resource"`
}

// message converts the prompt. A block of an unsupported type is an error: if it were left out, the
// user would believe that the model sees it.
func (p promptParams) message(ctx context.Context) (Message, *Error) {
	var in Message
	var text, typed, attached []string
	for i, raw := range p.Prompt {
		var b block
		if json.Unmarshal(raw, &b) != nil {
			return in, errorf(codeParams, "block %d of the prompt cannot be read", i+1)
		}
		words, err := in.add(ctx, b)
		if err != nil {
			return in, errorf(codeParams, "block %d of the prompt: %v", i+1, err)
		}
		switch {
		case b.Type == "text":
			typed = append(typed, words)
		case words != "":
			attached = append(attached, words)
		default: // an image
			continue
		}
		text = append(text, words)
	}
	in.Typed, in.Attached = strings.Join(typed, "\n"), strings.Join(attached, "\n")
	if in.Text = strings.Join(text, "\n"); strings.TrimSpace(in.Text) == "" && len(in.Images) == 0 {
		return in, errorf(codeParams, "the prompt is empty")
	}
	return in, nil
}

// add reads a block. It appends an image to in.Images and returns ""; for any other block it returns
// the text for the model.
func (in *Message) add(ctx context.Context, b block) (string, error) {
	switch r := b.Resource; {
	case b.Type == "text" && b.Text != nil:
		return *b.Text, nil
	case b.Type == "image" && b.Data != nil:
		return "", in.addImage(ctx, *b.Data, fmt.Sprintf("image %d", len(in.Images)+1))
	case b.Type == "resource_link" && b.URI != nil && *b.URI != "":
		return linked(*b.URI, b.Name), nil
	case b.Type == "resource" && r != nil && r.URI != nil && r.Text != nil:
		return embedded(place(*r.URI), *r.Text), nil
	case b.Type == "resource" && r != nil && r.URI != nil && r.Blob != nil:
		file, err := base64.StdEncoding.DecodeString(*r.Blob)
		if err == nil && utf8.Valid(file) && !slices.Contains(file, 0) {
			return embedded(place(*r.URI), string(file)), nil
		}
		return "", in.addImage(ctx, *r.Blob, place(*r.URI))
	case slices.Contains([]string{"text", "image", "resource_link", "resource"}, b.Type):
		return "", fmt.Errorf("a field that the type %s requires is missing", b.Type)
	}
	return "", fmt.Errorf("the type %s is not supported", short.Quote(b.Type, 100))
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

// nameMost bounds the name of a resource, in bytes.
const nameMost = 4 << 10

// linked returns the text for a link to a resource, which the model can read by itself. It is one
// line: text after a line break in a file's name could pass for the user's.
func linked(uri string, name *string) string {
	where := place(uri)
	out := "@" + where
	if name != nil && *name != "" && !strings.HasSuffix(where, "/"+*name) && *name != where {
		out += " (" + short.Bound(*name, nameMost) + ")"
	}
	return visible.Line(short.Bound(out, 2*nameMost))
}

// embedded puts the text of a resource between tags that name its source. If the text contains the
// closing tag, another tag is used: otherwise the rest of the text could pass for the user's.
func embedded(where, text string) string {
	if len(text) > embeddedMost {
		text = short.Head(text, embeddedMost) + fmt.Sprintf("\n[%s more are left out]", short.Size(int64(len(text)-embeddedMost)))
	}
	tag := "file"
	if strings.Contains(text, "</"+tag) {
		tag += fmt.Sprintf("-%x", sha256.Sum256([]byte(text)))[:9]
	}
	return fmt.Sprintf("<%s path=%q>\n%s\n</%s>", tag, short.Bound(where, nameMost), text, tag)
}

// place returns the path in a file URI, with the fragment, by which some editors name lines. It
// returns any other URI unchanged.
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
