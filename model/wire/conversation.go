package wire

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"codeagent/model"
)

// Texts in place of missing ones: go-openai leaves out empty fields, and providers refuse
// a call without a result.
const (
	noOutput   = "(no output)"
	noResult   = "(the call was interrupted, there is no result)"
	lostResult = "The result of a tool call that is no longer part of this conversation:\n"
)

// Conversation is what is sent to a provider; it returns each result once.
type Conversation struct {
	items []model.Item
	taken []bool
}

// NewConversation returns the conversation of items.
func NewConversation(items []model.Item) *Conversation {
	return &Conversation{items: items, taken: make([]bool, len(items))}
}

// take returns the text and the images of the first result for id at or after position from.
func (c *Conversation) take(from int, id string) (string, []model.Image) {
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

// Results visits the results of calls, at or after position from, in the order of the calls.
// Their images come last, with the user's role: a result is only text in one API, and servers
// of the other (LM Studio) refuse more.
func (c *Conversation) Results(from int, calls []string, result func(call int, text string), user func(text string, images []model.Image)) {
	var brought [][]model.Image
	for i, id := range calls {
		text, images := c.take(from, id)
		result(i, text)
		brought = append(brought, images)
	}
	for _, images := range brought {
		user("", images)
	}
}

// Each visits the conversation: it calls user for what is sent with the user's role, and
// answer with the bounds of each answer of the model. A result that answer has not taken has
// no call, and is sent with the user's role.
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

// NewCallIDs returns the ids in items.
func NewCallIDs(items []model.Item) CallIDs {
	used := CallIDs{}
	for _, it := range items {
		if it.Call != nil {
			used[it.Call.ID] = true
		}
	}
	return used
}

// Unique returns theirs, or a new id if theirs is empty, was used before, or has a form that
// no provider is known to want back.
func (used CallIDs) Unique(theirs string) string {
	id := theirs
	if id != "" && !anyones().MatchString(id) && !kimis().MatchString(id) {
		id = madeID(id)
	}
	for n := len(used) + 1; id == "" || used[id]; n++ {
		id = fmt.Sprintf("call%05d", n)
	}
	used[id] = true
	return id
}

var (
	// anyones matches call ids that every provider accepts: OpenAI refuses more than 40 bytes,
	// Anthropic other characters.
	anyones   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`) })
	strictest = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9]{9}$`) })
	// kimis matches the call ids of Kimi (functions.shell:0). Its models call worse if earlier
	// calls have other ids.
	kimis = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^functions\.[a-zA-Z0-9_-]{1,64}:[0-9]{1,6}$`) })
)

// CallID returns an id for a call that the providers of that model accept. An id that others
// may refuse, and with it the whole conversation, is replaced, always by the same one. strict: the
// provider has refused an id (Mistral: nine letters and digits), so only the strictest form is sent.
func CallID(id, model string, strict bool) string {
	if strict && !strictest().MatchString(id) {
		return madeID(id)
	}
	if anyones().MatchString(id) || kimis().MatchString(id) && strings.Contains(strings.ToLower(model), "kimi") {
		return id
	}
	return madeID(id)
}

func madeID(id string) string {
	sum := sha256.Sum256([]byte(id))
	return base32.HexEncoding.EncodeToString(sum[:])[:9]
}
