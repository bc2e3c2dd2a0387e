package wire

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"codeagent/model"
)

// sight is what is known about the images that a provider's models accept. It is safe for
// concurrent use; the zero value has learned nothing.
type sight struct {
	mu sync.Mutex
	// Both guarded by mu: models that refused all images, and the sums of images that
	// were refused for their content.
	blind, bad map[string]bool
}

// Part is a piece of a message with the user's role: an image, or words.
type Part struct {
	Text  string
	Image *model.Image
}

// View says which images of a request are sent, and why others are not.
type View struct {
	// hidden holds the reason for each image that is not sent, by its address in the items.
	hidden map[*model.Image]string
	sent   []string // sums of the images that are sent
}

// look decides which images of a request are sent.
func (s *sight) look(r model.Request) *View {
	v := &View{hidden: map[*model.Image]string{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	blind := r.Blind || s.blind[r.Model]
	var shown []*model.Image // oldest first
	size := 0
	for i := range r.Items {
		for j := range r.Items[i].Images {
			img := &r.Items[i].Images[j]
			switch {
			case blind:
				v.hidden[img] = fmt.Sprintf("the model %s cannot see images", r.Model)
			case s.bad[img.Sum]:
				v.hidden[img] = "the provider does not take it"
			case len(img.Data) == 0:
				v.hidden[img] = gone
			default:
				shown = append(shown, img)
				size += len(img.Data)
			}
		}
		// Drop half of them at once: a request with the same beginning as the last one is cheaper,
		// and not every new image should change that beginning.
		for full := over(shown, size, 1); full && over(shown, size, 2); shown = shown[1:] {
			v.hidden[shown[0]] = gone
			size -= len(shown[0].Data)
		}
	}
	for _, img := range shown {
		v.sent = append(v.sent, img.Sum)
	}
	return v
}

// gone replaces images that are too old to be sent again, and images whose file is lost.
const gone = "it is no longer at hand; view_image shows a file again"

// over reports whether images of that size exceed 1/share of what one request may hold. A
// single image never does.
func over(images []*model.Image, size, share int) bool {
	return len(images) > 1 && (len(images) > model.MaxImages.Shown/share || size > model.MaxImages.Bytes/share)
}

// Parts returns the text of an item, unless it is blank, and its images, each with words
// about it.
func (v *View) Parts(text string, images []model.Image) []Part {
	var parts []Part
	if strings.TrimSpace(text) != "" {
		parts = append(parts, Part{Text: text})
	}
	for i := range images {
		img := &images[i]
		if why, hidden := v.hidden[img]; hidden {
			parts = append(parts, Part{Text: fmt.Sprintf("[image not shown: %s: %s]", img, why)})
			continue
		}
		parts = append(parts, Part{Text: fmt.Sprintf("[image: %s]", img)}, Part{Image: img})
	}
	return parts
}

// DataURL returns an image as a data: URL.
func DataURL(i *model.Image) string {
	return "data:" + i.MediaType + ";base64," + base64.StdEncoding.EncodeToString(i.Data)
}

// after learns from a refusal of the request that v was made for. It returns the delta to
// yield before the request is sent again, or false if the refusal is not about images.
func (s *sight) after(err error, r model.Request, v *View) (model.Unseen, bool) {
	e := new(model.Error)
	if len(v.sent) == 0 || !errors.As(err, &e) {
		return model.Unseen{}, false
	}
	blind := hasAny(e.Message, blindWords)
	if !blind && (e.Kind != model.BadRequest || !hasAny(e.Message, imageWords)) || !mayRefuse(e) {
		return model.Unseen{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.blind == nil {
		s.blind, s.bad = map[string]bool{}, map[string]bool{}
	}
	if blind {
		s.blind[r.Model] = true
	} else {
		for _, sum := range v.sent {
			s.bad[sum] = true
		}
	}
	return model.Unseen{Err: e, Blind: blind}, true
}

// mayRefuse reports whether servers use an error like e to refuse an image.
func mayRefuse(e *model.Error) bool {
	switch e.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return e.Kind == model.BadRequest
	case http.StatusInternalServerError, http.StatusNotImplemented: // llama.cpp, older vLLM
		return true
	case 0: // inside a stream, where many errors have no code
		return e.Kind == model.BadRequest || e.Kind == model.ServerFault
	}
	return false
}

// blindWords occur in refusals by models that accept no images at all, imageWords in refusals
// about an image; lower case.
var (
	blindWords = []string{
		"image_url is only supported by", // OpenAI
		"support image",                  // Ollama, OpenRouter, Volcano: (does not | endpoints that) support image input
		"image input",                    // llama.cpp, xAI, Mistral: image input is not supported
		"images are not supported",       // gateways
		"not a multimodal model",         // vLLM
		"mmproj",                         // llama.cpp
		"unknown variant `image_url`",    // DeepSeek
		"unknown variant image_url",      // gateways before it
		"unknown variant `input_image`",  // similar servers
		"expected a string",              // DeepSeek, earlier: the content is a list
		"content must be a string",       // Groq
		"content should be a valid string",
		"content.str: input should be a valid string",
		"not support vision",
	}
	imageWords = []string{
		"image", "base64", "media_type", "media type",
		"invalid type for 'input'", // LM Studio
	}
)
