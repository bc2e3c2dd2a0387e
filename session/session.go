// Package session keeps conversations on disk, one file each, so that a later process
// can resume them. It reads and writes only its own folder, through hostfile: one process
// at a time appends to a file, and a crash loses at most the record that was being written.
// Start reading at record.go, the format, and view.go, which reads a file from its end and
// never as a whole.
package session

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"codeagent/hostfile"
	"codeagent/internal/short"
	"codeagent/model"
)

// Info describes a new session, or a process that resumes one.
type Info struct {
	// ID names a new session; see NewID.
	ID string
	// Folder is the workspace, absolute.
	Folder string
	// Program and Model describe the writing process.
	Program string
	Model   Model
}

// Model is the model in use.
type Model struct {
	// Name is NAME at the provider of the top-level settings, PROVIDER/NAME at another; empty
	// if it is not known.
	Name string
	// Provider is the name of another provider, and Host its address. Without a Host nobody
	// chose the model, and a later process need not use it.
	Provider, Host string
	// Window is its context in tokens, by the provider's list; 0: not known.
	Window int64
}

// Session is a conversation that is being written. It is safe for concurrent use.
type Session struct {
	store *Store
	info  Info
	// Turn returns the number of the first turn of undo that can hold a change after now; it is kept with
	// each message. Nil: nothing is undone. It is set before the first item.
	Turn func() int

	mu sync.Mutex
	// f is open and locked; nil before the first item of a new session.
	f    *os.File
	view view // its end is where the next record goes, unless behind is set
	// behind is the end of the file after a rewind that has no effect yet; view ends where
	// the conversation is rewound to. 0: no rewind.
	behind int64
	// ends are the ends of the conversation before rewinds that nothing followed.
	ends  []int64
	label Label // repeated in every turn record
	// total is in every turn record; nil: not known.
	total *model.Usage
	// broken: the rest of a failed write could not be removed.
	broken error
	// unlisted: the directory entry may not be on disk yet.
	unlisted bool
}

// ID returns the session's ID.
func (s *Session) ID() string { return s.info.ID }

// Name returns the session's name in lists; "" before its first message.
func (s *Session) Name() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Summary{Label: s.label, First: s.view.head.First}.Name()
}

// Kept reports whether there is a file: a session without items has none.
func (s *Session) Kept() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.f != nil
}

// Append adds an item to the conversation. The kernel has it when Append returns; it is on
// disk after EndTurn.
func (s *Session) Append(item model.Item) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	turn := ""
	switch item.Kind {
	case model.User:
		if s.Turn != nil {
			turn = fmt.Sprintf("%s/%d", s.info.ID, s.Turn()) // a fork has this message too, and another history of undo
		}
		s.label.Said = beginning(item)
		about, first := firstWords(item.About), s.view.head.First
		switch title := cmp.Or(about, s.label.Said); {
		case s.label.Title != "":
		case s.f == nil:
			s.label.Title = about
		case !strings.Contains(first, " ") && strings.Contains(title, " "): // one word is a greeting, or says too little
			s.label.Title = title
		}
	case model.Assistant:
		s.label.Answer = firstWords(item.Text)
	}
	line, err := encodeItem(item, s.now(), turn)
	if err != nil {
		return err
	}
	s.ends = nil
	if s.f == nil && s.broken == nil {
		// A conversation without its beginning is of little use, so there is no second attempt.
		if s.broken = s.create(item, line); s.broken != nil {
			return s.broken
		}
	} else if err := s.write(line); err != nil {
		return err
	}
	return s.store.keepImages(s.info.ID, item.Images)
}

// Compacted records that items replace the conversation so far, which stays in the file: it
// is exported, and a rewind can go back to it.
func (s *Session) Compacted(items []model.Item) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.f == nil {
		return s.broken
	}
	err := s.record(record{Kind: kindCompacted, Items: items})
	if err == nil { // the title must stay near the end
		err = s.record(record{Kind: kindTitle, Label: s.label})
	}
	if err == nil {
		err = s.sync() // between turns nothing else would sync
	}
	return err
}

// Asks records m as the model of the messages that follow, unless it is.
func (s *Session) Asks(m Model) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m == s.info.Model {
		return nil
	}
	s.info.Model = m
	if s.f == nil {
		return s.broken // a new session's first record will name the model
	}
	return s.record(s.opened())
}

// Rename gives the session a title; an empty one removes it.
func (s *Session) Rename(title string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.f == nil {
		return errors.New("this session has no message yet")
	}
	was := s.label.Title
	s.label.Title = firstWords(title)
	if err := s.record(record{Kind: kindTitle, Label: s.label}); err != nil {
		s.label.Title = was
		return err
	}
	return s.sync()
}

// EndTurn records the end of a turn and syncs the file to disk.
func (s *Session) EndTurn(outcome string, usage model.Usage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.f == nil {
		return s.broken
	}
	if err := s.record(record{Kind: kindTurn, Label: s.label, Outcome: outcome, Usage: &usage, Total: s.total}); err != nil {
		return err
	}
	return s.sync()
}

// Back removes message n, counted from 1 without removed ones, and everything after
// it. A rewind takes effect only with the next record; until then the file does not change.
func (s *Session) Back(n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, err := s.place(n)
	if err != nil {
		return err
	}
	s.ends = append(s.ends, s.view.end)
	s.goTo(at)
	return nil
}

// Return takes the last rewind back. It fails if an item was added since.
func (s *Session) Return() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.ends) - 1
	if last < 0 {
		return errors.New("there is no rewind to take back")
	}
	s.goTo(s.ends[last])
	s.ends = s.ends[:last]
	return nil
}

// goTo makes the conversation end at a position, with the next record; mu is held.
func (s *Session) goTo(at int64) {
	if s.behind == 0 {
		s.behind = s.view.end
	}
	if s.view.end = at; at == s.behind {
		s.behind = 0
	}
}

// place returns the position of message n, counted as in Back; mu is held.
func (s *Session) place(n int) (int64, error) {
	if s.f == nil {
		return 0, fmt.Errorf("there is no message %d: the session is empty", n)
	}
	return s.view.before(n)
}

// settle records a rewind; mu is held.
func (s *Session) settle() error {
	if s.behind == 0 {
		return nil
	}
	at, end := s.view.end, s.behind
	s.view.end, s.behind = end, 0
	err := s.record(record{Kind: kindBack, Bytes: end - at})
	if err != nil {
		s.view.end, s.behind = at, end
	}
	return err
}

// Messages returns the user's messages whole, in the order of Said.
func (s *Session) Messages() (items []model.Item, err error) {
	said, err := s.Said()
	for _, m := range said {
		if m.item == nil {
			return nil, errDamaged
		}
		items = append(items, *m.item)
	}
	s.store.showImages(s.info.ID, items)
	return items, err
}

// Said lists the user's messages: see Store.Messages.
func (s *Session) Said() ([]Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.f == nil {
		return nil, s.broken
	}
	return s.view.said()
}

// History returns the conversation without removed items, at most limit bytes of its end.
func (s *Session) History(limit int64) (History, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.f == nil {
		return History{}, nil
	}
	h, err := s.view.history(limit)
	s.store.showImages(s.info.ID, h.Items)
	return h, err
}

// All yields the whole conversation without removed items. It also yields the items that summaries have
// replaced for the model, and each summary at the point where it was made. It reads the file during the
// iteration, so the session must not be closed before that ends. The images have no data.
func (s *Session) All() iter.Seq2[model.Item, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.f == nil {
		return func(func(model.Item, error) bool) {}
	}
	v := s.view
	return func(yield func(model.Item, error) bool) {
		for r, err := range v.items() {
			if err != nil {
				yield(model.Item{}, err)
				return
			}
			if !yield(*r.Item, nil) {
				return
			}
		}
	}
}

// SetBranch says what is checked out in the folder. The next record has it.
func (s *Session) SetBranch(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.label.Branch = short.Head(name, maxFirst)
}

// SetTotal says what all runs of the session used, unless Total is not known. The next turn's record has it.
func (s *Session) SetTotal(total model.Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.total != nil {
		s.total = &total
	}
}

// Total returns what the earlier runs of the session used; nil: the record does not say.
func (s *Session) Total() *model.Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// InUse returns a copy of the open file of the session; nil for a session without a file. After a crash the session is in use for as
// long as somebody has a copy open.
func (s *Session) InUse() *os.File {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.f == nil {
		return nil
	}
	f, _ := hostfile.Dup(s.f) // without one the session is free a moment earlier
	return f
}

// Close closes the session; another process may then resume it.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.f == nil {
		return nil
	}
	_ = syscall.Flock(int(s.f.Fd()), syscall.LOCK_UN) // some network file systems have no locks
	err := errors.Join(s.sync(), s.f.Close())
	s.f, s.broken = nil, errors.New("the session is closed")
	return err
}

func (s *Session) now() time.Time { return s.store.now().UTC().Truncate(time.Millisecond) }

// create makes the file with its first lines, in one write; mu is held.
func (s *Session) create(item model.Item, line []byte) error {
	h := head{Version: version, ID: s.info.ID, At: s.now(), Folder: s.info.Folder, First: beginning(item)}
	top, err := encode(h)
	if err != nil {
		return err
	}
	if len(top) > maxHead {
		return fmt.Errorf("the folder's name has %d bytes, too much for a session", len(h.Folder))
	}
	opened, err := encode(s.opened())
	if err != nil {
		return err
	}
	f, err := s.store.openFile(s.info.ID, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	if err := lock(f, lockTries); err != nil {
		f.Close()
		return err
	}
	s.f, s.unlisted = f, true
	s.view = view{f: f, head: h}
	if err := s.write(append(append(top, opened...), line...)); err != nil {
		s.f = nil
		f.Close()
		hostfile.Remove(f.Name())
		return err
	}
	s.view.start = int64(len(top))
	return nil
}

// opened returns the record of a process that begins to write.
func (s *Session) opened() record {
	m := s.info.Model
	return record{Kind: kindOpen, At: s.now(), Label: s.label, PID: os.Getpid(), Program: s.info.Program, Model: m.Name, Provider: m.Provider, Host: m.Host, Window: m.Window}
}

// record writes r with the time; mu is held.
func (s *Session) record(r record) error {
	r.At = s.now()
	line, err := encode(r)
	if err != nil {
		return err
	}
	return s.write(line)
}

// write appends whole lines or nothing; mu is held.
func (s *Session) write(lines []byte) error {
	if s.broken != nil {
		return s.broken
	}
	if err := s.settle(); err != nil {
		return err
	}
	n, err := s.f.Write(lines)
	if err == nil {
		s.view.end += int64(n)
		return nil
	}
	// A full disk may have taken part of a line. The next record must not be appended to that part.
	if terr := s.f.Truncate(s.view.end); terr != nil {
		s.broken = fmt.Errorf("%w (and removing the partial record failed: %w)", err, terr)
	}
	return err
}

// sync syncs the file to disk, and a new file's name too; mu is held.
func (s *Session) sync() error {
	if err := s.f.Sync(); err != nil {
		return err
	}
	if s.unlisted {
		if err := s.store.sync(); err != nil {
			return err
		}
		s.unlisted = false
	}
	return nil
}

func isOpen(kind string) bool { return kind == kindOpen }

// maxFirst is how many runes of the first message the head contains.
const maxFirst = 200

// beginning returns the beginning of a message, or the name of an image if it has no words.
func beginning(item model.Item) string {
	words := firstWords(item.Said())
	if words == "" && len(item.Images) > 0 {
		words = firstWords(item.Images[0].String())
	}
	return words
}

// firstWords returns the beginning of a message, as one line.
func firstWords(text string) string {
	text = strings.ToValidUTF8(short.Head(text, 8*maxFirst), "")
	return short.Cut(strings.Join(strings.Fields(text), " "), maxFirst)
}
