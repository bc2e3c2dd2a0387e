// Package diagnostics is the client of one language server: it hands over files that changed and
// returns the errors that are new. It starts no program and reads no file: Options.Start connects it,
// and the caller has the texts. Start reading at Client.
//
//	Check -> the worker: start -> initialize -> round, round … -> Close
//	round    the text before the change, if the server has another one: what it reports is the base
//	         the text after it: what it reports beyond the base is new
//	Found    the new errors that no earlier Found returned
//
// Threat: a server is hostile. It answers when it wants, so no method waits for it. What it sends is
// bounded and made harmless (messages.go), its requests change nothing, and one that breaks a bound
// or the protocol, or is silent, is ended.
package diagnostics

import (
	"context"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"codeagent/internal/visible"
)

// Options configures a client.
type Options struct {
	// Root is the workspace, canonical.
	Root string
	// Languages are the languages of the protocol by the ends of file names (".go").
	Languages map[string]string
	// Start starts the server. ctx ends with the client.
	Start func(ctx context.Context) (Process, error)
}

// Process is a server that runs. Close ends it with everything it started, also while In or Out are in
// use, and returns when it is gone.
type Process struct {
	Out   io.Reader
	In    io.Writer
	Close func()
}

// File is a file that changed. Path is canonical and in the workspace.
type File struct {
	Path string
	// Before is its text before the change; nil: not known. New: there was no file.
	Before *string
	New    bool
	// After is its text now; nil: the file is gone.
	After *string
}

// The times that a server has. Without an answer to a request it is ended; without a report on a file,
// which some servers omit where nothing is wrong, the worker goes on.
const (
	answerTime = time.Minute
	firstTime  = 20 * time.Second // until the first report: it reads the whole workspace
	reportTime = 3 * time.Second
)

// mostDocuments bounds the files whose errors are remembered.
const mostDocuments = 200

// Client is the client of one run of a server. Its methods may be called by several goroutines.
type Client struct {
	o    Options
	life context.Context
	end  context.CancelFunc
	done chan struct{} // closed when the worker and all processes of the server are gone
	wake chan struct{} // holds one element while there is a batch

	mu    sync.Mutex
	next  *batch               // to be handed over; nil: none; guarded by mu
	docs  map[string]*document // by path; guarded by mu
	stage *batch               // what the worker waits for; guarded by mu
	warm  bool                 // the server has reported on a file; guarded by mu
	err   error                // why the server was ended; guarded by mu
}

// batch is a number of changes that are handed over together.
type batch struct {
	files []File
	due   map[*document]bool // those on which a report is due; guarded by Client.mu
	// answered is closed by answer: the server has reported on all, or the client has ended.
	answered chan struct{}
	answer   func()
}

func newBatch() *batch {
	b := &batch{answered: make(chan struct{})}
	b.answer = sync.OnceFunc(func() { close(b.answered) })
	return b
}

// document is a file as the server knows it. All fields are guarded by Client.mu.
type document struct {
	path    string
	open    bool
	text    string // as last sent
	version int
	heard   bool // the server has reported on this version
	basing  bool // the text is that before the change
	known   bool // base is complete
	// base are the errors from before the change and those that were returned, by what they say; latest
	// are those that the server reported last.
	base   map[string]int
	latest []Problem
}

// New returns a client whose server is started by the first Check.
func New(o Options) *Client {
	c := &Client{o: o, done: make(chan struct{}), wake: make(chan struct{}, 1), docs: map[string]*document{}}
	c.life, c.end = context.WithCancel(context.Background())
	go c.work()
	return c
}

// Close ends the server and waits until it is gone.
func (c *Client) Close() {
	c.end()
	<-c.done
}

// Done is closed when the server has ended. Err then says why.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err says why the server has ended; nil: it was closed, or runs.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Check hands over files. The channel is closed when the server has reported on all of them, or has
// ended.
func (c *Client) Check(files []File) (answered <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.next
	if b == nil {
		b = newBatch()
	}
	select {
	case <-c.done:
		b.answer()
		return b.answered
	default:
	}
	for _, f := range files {
		if i := slices.IndexFunc(b.files, func(o File) bool { return o.Path == f.Path }); i >= 0 {
			b.files[i].After = f.After
		} else {
			b.files = append(b.files, f)
		}
	}
	c.next = b
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return b.answered
}

// work starts the server with the first batch, and hands over batches until one of both ends.
func (c *Client) work() {
	defer func() {
		c.end()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.next != nil {
			c.next.answer()
		}
		close(c.done)
	}()
	select {
	case <-c.wake:
	case <-c.life.Done():
		return
	}
	s, err := c.connect()
	if err != nil {
		c.failed(err)
		return
	}
	defer s.close()
	if err = s.initialize(); err == nil {
		err = c.rounds(s)
	}
	c.failed(s.why(err))
}

// rounds hands over batches until the server or the client ends.
func (c *Client) rounds(s *server) error {
	for {
		c.mu.Lock()
		b := c.next
		c.next = nil
		c.mu.Unlock()
		if b != nil {
			if err := c.round(s, b); err != nil {
				return err
			}
			continue
		}
		select {
		case <-c.wake:
		case <-c.life.Done():
			return c.life.Err()
		case <-s.conn.DisconnectNotify():
			return jsonrpc2.ErrClosed
		}
	}
}

func (c *Client) failed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.life.Err() == nil {
		c.err = err
	}
}

// round hands a batch over.
func (c *Client) round(s *server, b *batch) error {
	defer b.answer()
	shut, before := c.begin(b.files)
	for _, d := range shut {
		if err := s.closed(d); err != nil {
			return err
		}
	}
	if err := c.present(s, before, newBatch(), nil); err != nil {
		return err
	}
	var after []text
	for _, f := range b.files {
		c.mu.Lock()
		d := c.docs[f.Path]
		c.mu.Unlock()
		if f.After != nil {
			after = append(after, text{d, *f.After})
		} else if err := s.closed(d); err != nil {
			return err
		}
	}
	if err := s.changed(b.files); err != nil {
		return err
	}
	return c.present(s, after, b, c.wake)
}

// text is what the server is to see of a file.
type text struct {
	of   *document
	text string
}

// begin makes the present errors the base of the files, and returns the open documents that are not
// among them, and the texts before the changes that the server has not seen. A text stays open for one
// batch: the server must not believe it when the file has changed meanwhile.
func (c *Client) begin(files []File) (shut []*document, before []text) {
	c.mu.Lock()
	defer c.mu.Unlock()
	among := map[*document]bool{}
	for _, f := range files {
		d := c.docs[f.Path]
		if d == nil {
			d = &document{path: f.Path, base: map[string]int{}, known: f.New}
			c.docs[f.Path] = d
		}
		among[d] = true
		d.settle()
		if f.Before != nil && (!d.open || d.text != *f.Before) {
			before = append(before, text{d, *f.Before})
			d.basing, d.known = true, false
		}
	}
	for p, d := range c.docs {
		if d.open && !among[d] {
			shut = append(shut, d)
		}
		if len(c.docs) > mostDocuments && !among[d] {
			delete(c.docs, p)
		}
	}
	return shut, before
}

// present sends texts and waits until the server has reported on all, which answers b; it waits for a
// limited time, or until sooner receives.
func (c *Client) present(s *server, texts []text, b *batch, sooner <-chan struct{}) error {
	if len(texts) == 0 {
		return nil
	}
	c.mu.Lock()
	b.due = map[*document]bool{}
	for _, t := range texts {
		b.due[t.of] = true
		t.of.text, t.of.heard = t.text, false
		t.of.version++
	}
	c.stage = b
	most := firstTime
	if c.warm {
		most = reportTime
	}
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, t := range texts {
			t.of.basing = false
		}
		c.stage = nil
	}()
	for _, t := range texts {
		if err := s.shown(t.of); err != nil {
			return err
		}
	}
	if err := s.answers(); err != nil { // one that hangs does not
		return err
	}
	limit := time.NewTimer(most)
	defer limit.Stop()
	select {
	case <-b.answered:
	case <-limit.C:
	case <-sooner: // rounds looks for the next batch anyway
	case <-s.conn.DisconnectNotify():
		return jsonrpc2.ErrClosed
	case <-c.life.Done():
		return c.life.Err()
	}
	return nil
}

// report takes what the server reports on a file. version is nil where the server does not say it.
func (c *Client) report(name string, version *int, found []Problem) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.docs[name]
	if d == nil || !d.open || version != nil && *version != d.version {
		return
	}
	for i := range found {
		found[i].Path = visible.Line(strings.TrimPrefix(strings.TrimPrefix(name, c.o.Root), "/"))
	}
	c.warm, d.heard, d.latest = true, true, found
	if d.basing {
		d.known, d.base = true, count(found)
	}
	if st := c.stage; st != nil && st.due[d] {
		if delete(st.due, d); len(st.due) == 0 {
			st.answer()
		}
	}
}

// language is the language of a file, or "".
func (c *Client) language(name string) string { return c.o.Languages[path.Ext(name)] }

// errSilent: the server does not answer.
var errSilent = errors.New("it does not answer")
