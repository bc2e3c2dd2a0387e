package composer

import (
	"slices"

	"codeagent/tui/message"
)

// maxHistory bounds the messages kept for recall.
const maxHistory = 500

// history recalls earlier messages. While one is shown, draft holds the unsent
// text.
type history struct {
	items []message.Message
	// at is the item shown plus one, counted from the end; 0 shows the draft.
	at    int
	draft message.Message
	// whole: those of earlier runs are there; early: one was wanted before.
	whole, early bool
}

func (h *history) add(s message.Message) {
	h.at, h.draft = 0, message.Message{}
	if s.Empty() || len(h.items) > 0 && h.items[len(h.items)-1].Text == s.Text {
		return
	}
	h.items = append(h.items, s)
	if len(h.items) > maxHistory {
		h.items = h.items[1:]
	}
}

// Recall puts the messages of earlier runs, the oldest first, before those of this one. If one was
// wanted before it came, it is shown now, unless something else was written.
func (c *Composer) Recall(earlier []message.Message) {
	c.history.items = append(slices.Clone(earlier), c.history.items...)
	c.history.items = c.history.items[max(len(c.history.items)-maxHistory, 0):]
	early := c.history.early
	c.history.whole, c.history.early = true, false
	if early && c.Message().Empty() {
		recall(c, 1)
	}
}

// recall shows an older (+1) or newer (-1) message.
func recall(c *Composer, by int) {
	s, ok := c.history.recall(by, c.Message())
	if !ok {
		c.history.early = !c.history.whole && by > 0
		return
	}
	h := c.history
	c.Restore(s)
	c.history = h
}

// Earlier are the messages that can be recalled, the oldest first, each once.
func (c *Composer) Earlier() []message.Message {
	var out []message.Message
	seen := map[string]bool{}
	for _, s := range slices.Backward(c.history.items) {
		if !seen[s.Text] {
			seen[s.Text] = true
			out = append(out, s)
		}
	}
	slices.Reverse(out)
	return out
}

// forget removes the latest message with this text.
func (h *history) forget(text string) {
	for i, s := range slices.Backward(h.items) {
		if s.Text == text {
			h.items = slices.Delete(h.items, i, i+1)
			return
		}
	}
}

// pastes are those of the latest message with this text.
func (h *history) pastes(text string) []string {
	for _, s := range slices.Backward(h.items) {
		if s.Text == text {
			return s.Pastes
		}
	}
	return nil
}

// recall steps by +1 to older and by -1 to newer messages; now is the editor's
// content. ok is false at either end.
func (h *history) recall(by int, now message.Message) (s message.Message, ok bool) {
	to := h.at + by
	if to < 0 || to > len(h.items) {
		return message.Message{}, false
	}
	if h.at == 0 {
		h.draft = now
	}
	h.at = to
	if to == 0 {
		return h.draft, true
	}
	return h.items[len(h.items)-to], true
}
