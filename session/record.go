package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"codeagent/internal/short"
	"codeagent/model"
)

// The format, version 1. A file is JSON, one record per line, and is only appended to:
//
//	{"codeagent_session":1,"id":…,"at":…,"folder":…,"first":…}   the head, once
//	{"kind":"open","at":…,"pid":…,"program":…,"model":…}         a process begins to write, or changes the model or its window
//	{"kind":"user","at":…,"item":{…}}                            one item of the conversation; the kind is the item's
//	{"kind":"turn","at":…,"outcome":…,"usage":{…}}               a turn is over; everything before it is on disk
//	{"kind":"title","at":…,"title":…}                            the session was renamed
//	{"kind":"compacted","at":…,"items":[…]}                      these items replace the conversation so far
//	{"kind":"back","at":…,"bytes":…}                             a rewind: the conversation ends that many bytes before this record
//
// An item refers to its images by their sum; their files are stored beside (images.go).
//
// A reader skips unknown kinds: a newer codeagent may add some without a new version. A
// change in the meaning of the kinds above is a new version, and a file of a higher version
// is not opened. A reader that does not know "compacted" continues the whole conversation,
// which is longer but correct.
const version = 1

// Kinds of records that are not items.
const (
	kindOpen      = "open"
	kindTurn      = "turn"
	kindTitle     = "title"
	kindBack      = "back"
	kindCompacted = "compacted"
)

// maxLine bounds a record, in bytes: far above the result of a tool, and small enough for
// memory.
const maxLine = 16 << 20

// head is the first line of a file.
type head struct {
	Version int       `json:"codeagent_session"`
	ID      string    `json:"id"`
	At      time.Time `json:"at"`
	Folder  string    `json:"folder"`
	// First is the beginning of the first message: lists show it if there is no title.
	First string `json:"first,omitempty"`
	// Origin is the session that this one is a fork of.
	Origin string `json:"origin,omitempty"`
}

// record is every other line; Kind says which fields are set.
type record struct {
	Kind string      `json:"kind"`
	At   time.Time   `json:"at"`
	Item *model.Item `json:"item,omitempty"`
	// Turn is in a message of the user: see Session.Turn.
	Turn string `json:"turn,omitempty"`
	Label
	PID     int    `json:"pid,omitempty"`
	Program string `json:"program,omitempty"`
	Model   string `json:"model,omitempty"`
	// Provider, Host and Window belong to Model: see the type Model.
	Provider string       `json:"provider,omitempty"`
	Host     string       `json:"host,omitempty"`
	Window   int64        `json:"window,omitempty"`
	Outcome  string       `json:"outcome,omitempty"`
	Usage    *model.Usage `json:"usage,omitempty"`
	// Total is what all runs of the session used up to the end of this turn; nil: not known.
	Total *model.Usage `json:"total,omitempty"`
	Bytes int64        `json:"bytes,omitempty"`
	// Items replace the conversation so far: a summary first, then items of earlier records,
	// word for word.
	Items []model.Item `json:"items,omitempty"`
}

// Label is what lists show of a session. It is in every open, turn and title record. The last of them
// counts, so it is always near the end.
type Label struct {
	// Title is the name that the user gave it, or what its first command is for, or the first message of two
	// words if the first one has fewer; "": none.
	Title string `json:"title,omitempty"`
	// Branch is what was checked out in the folder; "": not known.
	Branch string `json:"branch,omitempty"`
	// Said and Answer are the beginnings of the user's last message and of the model's.
	Said   string `json:"said,omitempty"`
	Answer string `json:"answer,omitempty"`
}

func isItem(kind string) bool {
	switch model.Kind(kind) {
	case model.User, model.Assistant, model.Reasoning, model.Call, model.Result, model.Note, model.Summary:
		return true
	}
	return false
}

func hasTitle(kind string) bool { return kind == kindOpen || kind == kindTurn || kind == kindTitle }

// encode writes v as one line.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // what a provider must get back unchanged is not escaped
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	if b.Len() > maxLine {
		return nil, errTooLong
	}
	return b.Bytes(), nil
}

// errTooLong: a record would be longer than maxLine, and could not be read back.
var errTooLong = errors.New("it is too long to be kept")

// encodeItem writes item as a record. A text that is too long is cut, with a note.
func encodeItem(item model.Item, at time.Time, turn string) ([]byte, error) {
	r := record{Kind: string(item.Kind), At: at, Item: &item, Turn: turn}
	line, err := encode(r)
	// A byte of text takes at most six bytes in JSON.
	const most = maxLine / 8
	if errors.Is(err, errTooLong) && len(item.Text) > most {
		item.Text = short.Head(item.Text, most) + fmt.Sprintf("\n[The rest of %d bytes was not kept.]", len(item.Text))
		line, err = encode(r)
	}
	return line, err
}

// decodeCompacted reads the items of a compaction; nil if the record is not one.
func decodeCompacted(line []byte) []model.Item {
	var r record
	if json.Unmarshal(line, &r) != nil || !slices.ContainsFunc(r.Items, isSummary) {
		return nil
	}
	return r.Items
}

func isSummary(i model.Item) bool { return i.Kind == model.Summary }

// kindOf reads the kind of a record without decoding it: of a large file only the needed
// records are decoded. It is "" for a line that is not a record.
func kindOf(line []byte) string {
	if rest, ok := bytes.CutPrefix(line, []byte(`{"kind":"`)); ok {
		if i := bytes.IndexAny(rest[:min(len(rest), 32)], `"\`); i >= 0 && rest[i] == '"' {
			return string(rest[:i])
		}
	}
	var r struct {
		Kind string `json:"kind"`
	}
	if json.Unmarshal(line, &r) != nil {
		return ""
	}
	return r.Kind
}

func decodeHead(line []byte) (head, error) {
	var h head
	if err := json.Unmarshal(line, &h); err != nil || h.Version < 1 {
		return head{}, errors.New("it is damaged: it does not begin like a session")
	}
	if h.Version > version {
		return h, fmt.Errorf("it was written by a newer codeagent (format %d; this one reads %d)", h.Version, version)
	}
	return h, nil
}

// decodeItem reads the item of a record; nil if the record has none.
func decodeItem(line []byte) *model.Item {
	var r record
	if json.Unmarshal(line, &r) != nil || r.Item == nil || string(r.Item.Kind) != r.Kind {
		return nil
	}
	return r.Item
}
