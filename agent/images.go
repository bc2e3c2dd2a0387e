package agent

import (
	"fmt"
	"slices"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/model"
)

// MaxImages is how many images one message holds.
const MaxImages = 10

// unseenWords returns the warning that images did not reach the model.
func unseenWords(name string, u model.Unseen) string {
	if name == "" {
		name = "the model"
	}
	if u.Blind {
		return fmt.Sprintf("%s cannot see images and got descriptions of them instead; choose a model with vision (the provider says: %v)", name, u.Err)
	}
	return fmt.Sprintf("the provider does not take the images; %s got descriptions of them instead (it says: %v)", name, u.Err)
}

// Blind reports whether the current model is known to see no images, and its name.
func (a *Agent) Blind() (name string, blind bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.cfg.ModelName, a.cfg.Blind
}

// say adds a message of the user to the conversation. told returns its event; a warning
// names images that do not reach the model.
func (a *Agent) say(in Input, told func(Input) event.Event) {
	over := len(in.Images) - MaxImages
	if over > 0 {
		in.Images = in.Images[:MaxImages]
	}
	a.emit(told(in))
	if a.cfg.Gate != nil {
		a.cfg.Gate.UserSpoke()
	}
	a.append(in.item())
	for _, note := range in.Notes {
		a.append(model.Item{Kind: model.Note, Text: note})
	}
	if over > 0 {
		a.emit(event.Notice{Level: word.LevelWarning, Text: fmt.Sprintf("a message has at most %d images; the last %d were left out", MaxImages, over)})
	}
	if len(in.Images) > 0 && a.cfg.Blind {
		a.emit(event.Notice{Level: word.LevelWarning, Text: a.cfg.ModelName + " cannot see images and gets descriptions of them instead"})
	}
}

// withoutOldImages drops the data of old images when all images together are twice what
// a request holds: the adapters no longer send them, and the log has them. Half of what a
// request holds stays, as in an adapter, so that requests do not change. items itself is
// not modified.
func withoutOldImages(items []model.Item) []model.Item {
	n, size, first := 0, 0, 0
	for i, item := range slices.Backward(items) {
		for _, img := range item.Images {
			if len(img.Data) > 0 {
				n, size = n+1, size+len(img.Data)
			}
		}
		if n <= model.MaxImages.Shown/2 && size <= model.MaxImages.Bytes/2 {
			first = i
		}
	}
	if n <= 2*model.MaxImages.Shown && size <= 2*model.MaxImages.Bytes {
		return items
	}
	items, _ = withoutImages(items, first)
	return items
}

// withoutImages returns items without the data of the images before first, and how many had
// data.
func withoutImages(items []model.Item, first int) (without []model.Item, left int) {
	without = slices.Clone(items)
	for i := range without[:first] {
		images := slices.Clone(without[i].Images)
		for j := range images {
			if len(images[j].Data) > 0 {
				images[j].Data = nil
				left++
			}
		}
		without[i].Images = images
	}
	return without, left
}

// leaveOutImages drops the data of all images except those in the user's last message, after
// a request was refused for its size. It reports whether there were any. The log keeps them.
func (a *Agent) leaveOutImages() bool {
	a.mu.Lock()
	items, left := withoutImages(a.items, len(a.items)-len(said(a.items)))
	a.items = items
	a.mu.Unlock()
	if left == 0 {
		return false
	}
	a.append(model.Item{Kind: model.Note, Text: "[The server refused the request as too large, so the images before this point were left out. Look at fewer images at once, or at smaller ones.]"})
	a.emit(event.Notice{Level: word.LevelWarning, Text: fmt.Sprintf("the server refused the request as too large (HTTP 413); it is sent again without the %d images before this message", left)})
	return true
}

// said returns the user's unanswered message and codeagent's notes after it.
func said(items []model.Item) []model.Item {
	for i, item := range slices.Backward(items) {
		if item.Kind == model.User {
			return items[i:]
		}
		if item.Kind != model.Note {
			break
		}
	}
	return nil
}

func hasImages(i model.Item) bool { return len(i.Images) > 0 }
