package session

import (
	"time"

	"codeagent/model"
)

// Message is a message of the user.
type Message struct {
	// N is the message's number, from 1, without messages removed by a rewind.
	N    int
	At   time.Time
	Text string
}

// Messages lists the user's messages, first to last, each by its beginning, without those
// removed by a rewind. A session can be rewound to each of them.
func (s *Store) Messages(id string) ([]Message, error) {
	f, v, err := s.read(id)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []Message
	for r, err := range v.items() {
		if err != nil {
			return nil, failed(id, err)
		}
		if r.Item.Kind == model.User {
			out = append(out, Message{N: len(out) + 1, At: r.At, Text: beginning(*r.Item)})
		}
	}
	return out, nil
}
