package scripted

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// greetTime bounds how long one client may take to read the greeting.
const greetTime = time.Second

// Door is a listener that greets and counts its connections. It serves to show a denial: if a
// confined command cannot reach it although it answers, the sandbox denied the connection.
type Door struct {
	// Addr is its address, host:port.
	Addr string

	greeting string
	listener net.Listener
	unhook   func() bool
	knocks   atomic.Int64
	serving  sync.WaitGroup
}

// OpenDoor listens on a free loopback port until Close or until ctx is done.
func OpenDoor(ctx context.Context, greeting string) (*Door, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("scripted: open a door: %w", err)
	}
	d := &Door{Addr: l.Addr().String(), greeting: greeting, listener: l}
	d.serving.Go(d.accept) // ends with Close
	d.unhook = context.AfterFunc(ctx, func() { _ = l.Close() })
	return d, nil
}

// Knocks returns the number of connections so far.
func (d *Door) Knocks() int { return int(d.knocks.Load()) }

// Close stops listening and waits until no connection is being accepted.
func (d *Door) Close() {
	d.unhook()
	_ = d.listener.Close()
	d.serving.Wait()
}

func (d *Door) accept() {
	for {
		c, err := d.listener.Accept()
		if err != nil {
			return
		}
		d.knocks.Add(1)
		_ = c.SetDeadline(time.Now().Add(greetTime))
		_, _ = io.WriteString(c, d.greeting)
		_ = c.Close()
	}
}
