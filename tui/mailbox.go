package tui

import (
	"slices"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"codeagent/event"
	"codeagent/tui/message"
)

// frame is the least time between two drawings of events: tokens that arrive faster
// are drawn together.
const frame = 50 * time.Millisecond

// keptUnread bounds, in bytes, the undrawn output of one call while the screen is
// suspended; older output is counted as skipped.
const keptUnread = 256 << 10

// mailbox carries events and questions from the agent's goroutines to the screen.
// Posting never waits for the screen.
type mailbox struct {
	mu     sync.Mutex
	items  []any             // event.Event, part.Ask or part.Withdrawn; guarded by mu
	steers []message.Message // written by the screen, taken by the agent; guarded by mu
	left   bool              // the screen is gone; guarded by mu
	closed bool              // and so are its turns; guarded by mu
	wake   chan struct{}     // one token when there are items
	done   chan struct{}     // closed when the screen is gone
}

func newMailbox() *mailbox {
	return &mailbox{wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// post hands x to the screen; it reports false when nothing is taken any more.
func (m *mailbox) post(x any) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	if n := len(m.items); n == 0 || !merge(&m.items[n-1], x) {
		m.items = append(m.items, x)
	}
	select {
	case m.wake <- struct{}{}:
	default:
	}
	return true
}

// merge appends x to the item before it if both are pieces of one stream.
func merge(last *any, x any) bool {
	switch x := x.(type) {
	case event.TextDelta:
		if l, ok := (*last).(event.TextDelta); ok && len(l.Text) < 4<<10 {
			*last = event.TextDelta{Text: l.Text + x.Text}
			return true
		}
	case event.ReasoningDelta:
		if l, ok := (*last).(event.ReasoningDelta); ok && len(l.Text) < 4<<10 {
			*last = event.ReasoningDelta{Text: l.Text + x.Text}
			return true
		}
	case event.ToolOutput:
		if l, ok := (*last).(event.ToolOutput); ok && l.CallID == x.CallID && l.Stream == x.Stream && x.Skipped == 0 {
			l.Data = append(l.Data[:len(l.Data):len(l.Data)], x.Data...)
			if n := len(l.Data) - keptUnread; n > 0 {
				l.Data = l.Data[n:]
				l.Offset += int64(n)
				l.Skipped += int64(n)
			}
			*last = l
			return true
		}
	}
	return false
}

func (m *mailbox) take() []any {
	m.mu.Lock()
	defer m.mu.Unlock()
	items := m.items
	m.items = nil
	return items
}

// inboxMsg reports that the mailbox has items.
type inboxMsg struct{}

// wait returns a command that ends when the mailbox has items and after has passed,
// or when the screen is gone.
func (m *mailbox) wait(after time.Duration) tea.Cmd {
	return func() tea.Msg {
		pause := time.NewTimer(after)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-m.done:
			return nil
		}
		select {
		case <-m.wake:
			return inboxMsg{}
		case <-m.done:
			return nil
		}
	}
}

// steer stores a message for the agent to take while it works.
func (m *mailbox) steer(s message.Message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.steers = append(m.steers, s)
}

func (m *mailbox) steered() (message.Message, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.steers) == 0 {
		return message.Message{}, false
	}
	s := m.steers[0]
	m.steers = m.steers[1:]
	return s, true
}

// unsteer removes and returns all messages that were not delivered.
func (m *mailbox) unsteer() []message.Message {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.steers
	m.steers = nil
	return all
}

// unsteerLast removes and returns the newest message that was not delivered.
func (m *mailbox) unsteerLast() (message.Message, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := len(m.steers)
	if n == 0 {
		return message.Message{}, false
	}
	s := m.steers[n-1]
	m.steers = m.steers[:n-1]
	return s, true
}

func (m *mailbox) waiting() []message.Message {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.steers)
}

// leave ends what waits for the screen. Events are still taken: turns that end say how.
func (m *mailbox) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.left {
		m.left = true
		close(m.done)
	}
}

// close takes nothing more, and returns what nobody has taken.
func (m *mailbox) close() []any {
	m.mu.Lock()
	defer m.mu.Unlock()
	items := m.items
	m.closed, m.items = true, nil
	return items
}
