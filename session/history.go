package session

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"codeagent/model"
)

const userKind = string(model.User)

// HistoryLimit is how many bytes of records are read to resume a session: more than any
// model's context, and small enough for memory.
const HistoryLimit = 8 << 20

// History is a conversation from a session.
type History struct {
	// Items are in order. The agent adds the result of a call that has none.
	Items []model.Item
	// Omitted: older items are left out because of the limit.
	Omitted bool
	// Damaged counts the lines that could not be read.
	Damaged int
}

// history reads the end of the conversation, at most limit bytes of records. It begins with a
// message of the user, if there is one.
func (v view) history(limit int64) (History, error) {
	var h History
	size := int64(0)
	for r, err := range v.live() {
		switch {
		case errors.Is(err, errDamaged):
			h.Damaged++
			continue
		case err != nil:
			return History{}, err
		case r.kind == kindCompacted:
			items := decodeCompacted(r.line)
			if items == nil {
				h.Damaged++
				continue
			}
			slices.Reverse(h.Items)
			h.Items = append(items, h.Items...)
			return h, nil
		case !isItem(r.kind):
			continue
		}
		if size += r.size; size > limit && len(h.Items) > 0 {
			h.Omitted = true
			break
		}
		item := decodeItem(r.line)
		if item == nil {
			h.Damaged++
			continue
		}
		h.Items = append(h.Items, *item)
	}
	slices.Reverse(h.Items)
	if h.Omitted {
		if i := slices.IndexFunc(h.Items, func(i model.Item) bool { return i.Kind == model.User }); i > 0 {
			h.Items = h.Items[i:]
		}
		h.Items = slices.Insert(h.Items, 0, model.Item{Kind: model.Note,
			Text: "[The conversation began earlier; that part is too long and left out.]"})
	}
	return h, nil
}

// Message is a message of the user.
type Message struct {
	// N is the message's number, from 1, without messages removed by a rewind.
	N    int
	At   time.Time
	Text string
	// Turn is the first turn of undo that can hold a change after the message; 0: not known.
	Turn int

	offset int64
	item   *model.Item // nil: it is damaged
}

// Messages lists the user's messages, first to last, each by its beginning, without those
// removed by a rewind. A session can be rewound to each of them.
func (s *Store) Messages(id string) ([]Message, error) {
	f, v, err := s.read(id)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out, err := v.said()
	if err != nil {
		return nil, failed(id, err)
	}
	return out, nil
}

// said is Messages of one file.
func (v view) said() (out []Message, err error) {
	for f, err := range v.live() {
		if err != nil && !errors.Is(err, errDamaged) {
			return nil, err
		}
		if f.kind != userKind {
			continue
		}
		var r record
		m := Message{offset: f.offset}
		if json.Unmarshal(f.line, &r) == nil && r.Item != nil {
			m.At, m.Text, m.item = r.At, beginning(*r.Item), r.Item
			if turn, ok := strings.CutPrefix(r.Turn, v.head.ID+"/"); ok {
				m.Turn, _ = strconv.Atoi(turn)
			}
		}
		out = append(out, m)
	}
	slices.Reverse(out)
	for i := range out {
		out[i].N = i + 1
	}
	return out, nil
}
