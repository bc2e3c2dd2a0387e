package terminal

import (
	"errors"
	"io"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/muesli/cancelreader"
	"golang.org/x/sys/unix"
)

// session is one stretch of reading, from Take to Release.
type session struct {
	from   cancelreader.CancelReader
	pieces chan []byte
	left   []byte        // read and not decoded when it ended
	err    error         // why pieces was closed
	over   chan struct{} // closed when it ends
	read   chan struct{} // closed when nothing reads any more
}

// Listen sends what is typed while the screen holds the terminal; lost is called when the terminal
// cannot be read any more.
func (t *Terminal) Listen(send func(tea.Msg), lost func(error)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.send, t.lost = send, lost
	return t.listen()
}

// listen starts reading; mu is held.
func (t *Terminal) listen() error {
	if t.send == nil {
		return nil
	}
	in := t.opt.In
	if f, ok := in.(*os.File); ok {
		in = typed{f, t.opt.Foreground}
	}
	from, err := cancelreader.NewReader(in)
	if err != nil {
		return err
	}
	l := &session{from: from, pieces: make(chan []byte), left: t.left, over: make(chan struct{}), read: make(chan struct{})}
	t.ears, t.left = l, nil
	go l.readAll()
	t.done.Go(func() { l.decode(t.send, t.lost) })
	return nil
}

// typed reads what is typed for this program, and never waits: what was there may be read by a shell before it
// gives the terminal back. The kernel stops a job in the background that reads its terminal.
type typed struct {
	*os.File
	foreground func() bool
}

// Read is part of io.Reader.
func (in typed) Read(p []byte) (int, error) {
	if !in.foreground() {
		time.Sleep(10 * time.Millisecond) // until deafen: there is something to read, so nothing else waits
		return 0, nil
	}
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(in.Fd()), Events: unix.POLLIN}}, 0); n == 0 || err != nil {
		return 0, nil
	}
	return in.File.Read(p)
}

// deafen ends reading: what is typed next is another program's. mu is held.
func (t *Terminal) deafen() {
	l := t.ears
	if l == nil {
		return
	}
	t.ears = nil
	close(l.over)
	if l.from.Cancel() {
		<-l.read
		t.left = l.left
		_ = l.from.Close() // its own pipe
	}
}

func (l *session) readAll() {
	defer close(l.read)
	defer close(l.pieces)
	for {
		if len(l.left) > 0 {
			select {
			case l.pieces <- l.left:
			case <-l.over:
				return
			}
		}
		piece := make([]byte, 4096)
		n, err := l.from.Read(piece)
		if l.left = piece[:n]; err != nil {
			l.err = err
			return
		}
	}
}

func (l *session) decode(send func(tea.Msg), lost func(error)) {
	var d decoder
	for {
		var late <-chan time.Time
		if wait := d.wait(); wait > 0 {
			late = time.After(wait)
		}
		var events []uv.Event
		select {
		case <-l.over:
			return
		case piece, ok := <-l.pieces:
			if !ok {
				if !errors.Is(l.err, cancelreader.ErrCanceled) && !errors.Is(l.err, io.EOF) {
					lost(l.err)
				}
				return
			}
			events = d.take(time.Now(), piece)
		case <-late:
			events = d.expire()
		}
		for _, e := range events {
			send(e)
		}
	}
}
