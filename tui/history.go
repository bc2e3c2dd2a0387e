package tui

import "strings"

// maxHistory bounds the messages kept for recall.
const maxHistory = 500

// history recalls earlier messages. While one is shown, draft holds what was
// being written.
type history struct {
	items []string
	// at is the item shown plus one, counted from the end; 0 shows the draft.
	at    int
	draft string
}

func (h *history) add(s string) {
	h.at, h.draft = 0, ""
	if strings.TrimSpace(s) == "" || len(h.items) > 0 && h.items[len(h.items)-1] == s {
		return
	}
	h.items = append(h.items, s)
	if len(h.items) > maxHistory {
		h.items = h.items[1:]
	}
}

// recall steps by +1 to older and by -1 to newer messages; now is what the
// editor holds. ok is false at either end.
func (h *history) recall(by int, now string) (s string, ok bool) {
	to := h.at + by
	if to < 0 || to > len(h.items) {
		return "", false
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
