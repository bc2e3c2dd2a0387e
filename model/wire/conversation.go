package wire

import (
	"fmt"
	"strings"

	"codeagent/model"
)

// What is said in the place of what is not there: fields that are empty are
// left out by go-openai, and a call without a result is refused by providers.
const (
	noOutput   = "(no output)"
	noResult   = "(the call was interrupted, there is no result)"
	lostResult = "The result of a tool call that is no longer part of this conversation:\n"
)

// Conversation is what goes to a provider; it hands out each result once.
type Conversation struct {
	items []model.Item
	taken []bool
}

// NewConversation is the conversation of items.
func NewConversation(items []model.Item) *Conversation {
	return &Conversation{items: items, taken: make([]bool, len(items))}
}

// Take returns the text of the first result for id from position from on, and its
// images.
func (c *Conversation) Take(from int, id string) (string, []model.Image) {
	for i := from; i < len(c.items); i++ {
		if it := c.items[i]; it.Kind == model.Result && it.CallID == id && !c.taken[i] {
			c.taken[i] = true
			if strings.TrimSpace(it.Text) == "" {
				return noOutput, it.Images
			}
			return it.Text, it.Images
		}
	}
	return noResult, nil
}

// Each goes through the conversation: user gets what is said with the user's
// role, answer where one answer of the model begins and ends. A result that
// answer has not taken by then has no call, and is said by the user.
func (c *Conversation) Each(user func(text string, images []model.Image), answer func(from, to int)) {
	for i := 0; i < len(c.items); i++ {
		switch it := c.items[i]; it.Kind {
		case model.User, model.Note, model.Summary:
			user(it.Text, it.Images)
		case model.Result:
			if !c.taken[i] {
				user(lostResult+it.Text, it.Images)
			}
		case model.Assistant, model.Call, model.Reasoning:
			end := i + 1
			for end < len(c.items) && c.items[end].Kind.Answers() {
				end++
			}
			answer(i, end)
			i = end - 1
		}
	}
}

// CallIDs gives each call of a conversation an id of its own.
type CallIDs map[string]bool

// NewCallIDs knows the ids in items.
func NewCallIDs(items []model.Item) CallIDs {
	used := CallIDs{}
	for _, it := range items {
		if it.Call != nil {
			used[it.Call.ID] = true
		}
	}
	return used
}

// Unique is theirs, or a new id where that is empty, was used before or is of no
// form that a provider is known to want back.
func (used CallIDs) Unique(theirs string) string {
	id := theirs
	if id != "" && !anyones.MatchString(id) && !kimis.MatchString(id) {
		id = madeID(id)
	}
	for n := len(used) + 1; id == "" || used[id]; n++ {
		id = fmt.Sprintf("call_%d", n)
	}
	used[id] = true
	return id
}
