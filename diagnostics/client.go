// Package diagnostics is the client of one language server: it hands over files that changed and
// returns the errors that are new. It starts no program and reads no file: Options.Start connects it,
// and the caller has the texts. Start reading at Client.
//
//	Check -> the queue: round, round … ; the first one starts the server, which then stays
//	round    the text before the change, if the server has another one: what it reports is the base
//	         the text after it: what it reports beyond the base is new
//	Found    the new errors that no earlier Found returned
//
// Threat: a server is hostile. It answers when it wants, so only Wait waits for it, for a limited time.
// What it sends is bounded and made harmless (protocol.go), its requests change nothing, and one that
// breaks a bound or the protocol, or is silent, is ended.
package diagnostics

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"
)

// Options configures a client.
type Options struct {
	// Root is the workspace, canonical.
	Root string
	// Languages are the languages of the protocol by the ends of file names (".go").
	Languages map[string]string
	// Start starts the server. The end of ctx ends the start alone.
	Start func(ctx context.Context) (Process, error)
	// Failed is called when the server is not used any more. worked: it has once reported on a file.
	Failed func(err error, worked bool)
}

// Process is a server that runs. Close ends it with everything it started, also while In or Out are in
// use, and returns when it is gone. Printed is the end of what it has written to stderr.
type Process struct {
	Out     io.Reader
	In      io.Writer
	Close   func()
	Printed func() string
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

const (
	// Patience is how long a call waits for reports on what it changed.
	Patience = time.Second
	// roundTime is what a round may take at most: a server that does not read or answer is ended.
	roundTime = time.Minute
	// reportTime is how long a round waits for reports. A server first reads the whole workspace, and some
	// report nothing where nothing has changed.
	reportTime = 20 * time.Second
	// tryTime is how long Try waits.
	tryTime = 10 * time.Second
	// idleTime is how long a server runs without a change: its memory is that of a compiler.
	idleTime = 10 * time.Minute
	// mostFailures is how often a server may end by itself or be ended.
	mostFailures = 3
	// mostQueued bounds the changes that wait, and mostDocuments the files whose errors are remembered.
	mostQueued    = 16
	mostDocuments = 200
)

// errSilent: the server does not answer.
var errSilent = errors.New("it does not answer")

// Client is the client of a server. Its methods may be called by several goroutines.
type Client struct {
	o     Options
	life  context.Context
	end   context.CancelFunc
	begun sync.Once
	all   sync.WaitGroup // of the goroutine of the rounds
	queue chan change
	news  chan struct{} // holds one element after a report, or when a change waits

	// The rounds alone use these.
	run      *run // nil: no server runs
	failures int
	worked   bool

	mu   sync.Mutex
	docs map[string]*document // by path; guarded by mu
}

// change is files to check.
type change struct {
	files    []File
	answered chan struct{}
}

// document is a file as the server knows it. All fields are guarded by Client.mu.
type document struct {
	path    string
	open    bool
	text    string // as last sent
	version int
	heard   bool // the server has reported on this version
	basing  bool // the text is that before the change
	// base counts the errors from before the change and those that were returned, by what they say; nil:
	// those before are not known. latest are those that the server reported last.
	base   map[string]int
	latest []problem
}

// New returns a client whose server is started by the first Check.
func New(o Options) *Client {
	c := &Client{o: o, queue: make(chan change, mostQueued), news: make(chan struct{}, 1)}
	c.life, c.end = context.WithCancel(context.Background())
	return c
}

// rounds runs the rounds, one after another, until the end of the client's life.
func (c *Client) rounds() {
	defer c.stop()
	for {
		var idle <-chan time.Time
		if c.run != nil {
			idle = time.After(idleTime)
		}
		select {
		case r := <-c.queue:
			c.check(r.files)
			close(r.answered)
		case <-idle:
			c.stop()
		case <-c.life.Done():
			return
		}
	}
}

// Try starts the server. The client is used for nothing else.
func (c *Client) Try(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, tryTime, errSilent)
	defer cancel()
	err := c.connect(ctx)
	if err == nil {
		defer context.AfterFunc(ctx, c.run.kill)()
		err = c.initialize(ctx)
	}
	return c.ended(ctx, err)
}

// Close ends the server and waits until it is gone.
func (c *Client) Close() {
	c.end()
	c.all.Wait()
}

// Check hands over files. The channel is closed when the server has reported on all of them, has ended, or
// has had its time. Nil: too many changes wait, and this one is not checked.
func (c *Client) Check(files []File) (answered <-chan struct{}) {
	c.begun.Do(func() { c.all.Go(c.rounds) })
	r := change{files, make(chan struct{})}
	select {
	case c.queue <- r:
		c.wake()
		return r.answered
	default:
		return nil
	}
}

// wake has present look again.
func (c *Client) wake() {
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// Wait waits for a channel of Check until ctx ends.
func (c *Client) Wait(ctx context.Context, answered <-chan struct{}) {
	select {
	case <-answered:
	case <-ctx.Done():
	}
}

// check has the server check files.
func (c *Client) check(files []File) {
	if c.run != nil {
		select {
		case <-c.run.conn.DisconnectNotify():
			c.failed(c.life, jsonrpc2.ErrClosed)
		default:
		}
	}
	if c.failures == mostFailures || c.life.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeoutCause(c.life, roundTime, errSilent)
	defer cancel()
	if err := c.round(ctx, files); err != nil || ctx.Err() != nil {
		c.failed(ctx, err)
	}
}

// failed notes that the server has ended or has to end.
func (c *Client) failed(ctx context.Context, err error) {
	err = c.ended(ctx, err)
	if c.failures++; c.failures == mostFailures && c.life.Err() == nil {
		c.o.Failed(err, c.worked)
	}
}

// ended ends the server, and says in place of err what it did; nil stays nil.
func (c *Client) ended(ctx context.Context, err error) error {
	r := c.run
	c.stop()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if r == nil || err == nil {
		return err
	}
	return r.why(err)
}

// stop ends the server. The next round starts it again.
func (c *Client) stop() {
	if c.run != nil {
		c.run.kill() // which closes the connection too
		<-c.run.gone
		c.run = nil
	}
}

func (c *Client) round(ctx context.Context, files []File) error {
	fresh := c.run == nil
	if fresh {
		if err := c.connect(ctx); err != nil {
			return err
		}
	}
	defer context.AfterFunc(ctx, c.run.kill)() // also while the server does not read
	c.run.left.Store(mostBytes)
	if fresh {
		if err := c.initialize(ctx); err != nil {
			return err
		}
	}
	gone, before, after := c.begin(files)
	if err := c.present(ctx, before, true); err != nil {
		return err
	}
	for _, d := range gone {
		c.hide(d)
	}
	c.changed(files)
	return c.present(ctx, after, false)
}

// begin makes the present errors the base of the files. It returns the documents to close, the texts before
// the changes that the server has not seen, and those after them. A text stays open for one round: the server
// must not believe it when the file has changed meanwhile.
func (c *Client) begin(files []File) (gone []*document, before, after map[*document]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, after = map[*document]string{}, map[*document]string{}
	among := map[string]bool{}
	for _, f := range files {
		d := c.docs[f.Path]
		if d == nil {
			d = &document{path: f.Path}
			if c.docs[f.Path] = d; f.New {
				d.base = map[string]int{}
			}
		}
		d.settle()
		if f.Before != nil && (!d.open || d.text != *f.Before) {
			before[d] = *f.Before
		}
		if among[f.Path] = f.After != nil; f.After != nil {
			after[d] = *f.After
		}
	}
	for name, d := range c.docs {
		if !among[name] {
			gone = append(gone, d)
			if len(c.docs) > mostDocuments {
				delete(c.docs, name)
			}
		}
	}
	return gone, before, after
}

// present sends texts and waits until the server has reported on all, for a limited time. base: they are those
// before the change; otherwise it does not wait while another change does.
func (c *Client) present(ctx context.Context, texts map[*document]string, base bool) error {
	if len(texts) == 0 {
		return nil
	}
	for d, text := range texts {
		c.show(d, text, base)
	}
	if err := c.answers(ctx); err != nil { // one that hangs does not
		return err
	}
	limit := time.NewTimer(reportTime)
	defer limit.Stop()
	for !c.heard(texts) && (base || len(c.queue) == 0) {
		select {
		case <-c.news:
		case <-c.run.conn.DisconnectNotify():
			return jsonrpc2.ErrClosed
		case <-limit.C:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
	c.worked = true
	return nil
}

// heard reports whether the server has reported on all texts.
func (c *Client) heard(texts map[*document]string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for d := range texts {
		if !d.heard {
			return false
		}
	}
	return true
}

// report takes what the server reports on a file. version is nil where the server does not say it.
func (c *Client) report(name string, version *int, found []problem) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.docs[name]
	if d == nil || !d.open || version != nil && *version != d.version {
		return
	}
	d.heard, d.latest = true, found
	if d.basing {
		d.base = count(found)
	}
	c.wake()
}
