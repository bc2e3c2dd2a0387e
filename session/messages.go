package session

import (
	"time"

	"codeagent/model"
)

// Message is a message of the user.
type Message struct {
	// N counts the messages that count, from 1.
	N    int
	At   time.Time
	Text string
}

// Messages lists the user's messages that count, first to last, each by its beginning: the
// places to which a session can be rewound.
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
