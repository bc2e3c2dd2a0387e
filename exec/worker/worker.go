// Package worker is the client of the file worker, through which codeagent reads and
// changes files inside the sandbox. It may import the worker's protocol and the types of the
// sandbox, and opens nothing itself: exec starts the worker. Start reading at Client.
package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"codeagent/internal/fileworker"
	"codeagent/sandbox"
)

// The types of the worker's protocol. Packages that use a Client do not import the worker
// itself, which they could otherwise run outside the sandbox.
type (
	Info       = fileworker.Info
	Entry      = fileworker.Entry
	Listing    = fileworker.Listing
	Type       = fileworker.Type
	Expect     = fileworker.Expect
	GrepLimits = fileworker.GrepLimits
	GrepResult = fileworker.GrepResult
	Match      = fileworker.Match
	Error      = fileworker.Error
	ErrorKind  = fileworker.Kind
)

// Kinds of errors; see the worker's own constants.
const (
	Refused   = fileworker.Refused
	Absent    = fileworker.Absent
	Changed   = fileworker.Changed
	IsFolder  = fileworker.IsFolder
	NotFolder = fileworker.NotFolder
	IsSymlink = fileworker.IsSymlink
	Special   = fileworker.Special
)

// Client reads and changes files inside the sandbox. It may be used from several
// goroutines. Errors are *Error, or say that the worker is gone.
type Client struct {
	*fileworker.Client
	ctx     context.Context
	process sandbox.Process
	in, out *os.File
}

// New returns a client for the file worker that process runs, with the worker's stdin and
// stdout. The caller closes it; the process is expected to end with ctx.
func New(ctx context.Context, process sandbox.Process, in, out *os.File) *Client {
	c := &Client{Client: fileworker.NewClient(in, out), ctx: ctx, process: process, in: in, out: out}
	c.Ended = c.why
	return c
}

// Close ends the worker and waits for it.
func (c *Client) Close() error {
	err := c.in.Close()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	kill := time.AfterFunc(2*time.Second, c.process.Kill)
	defer kill.Stop()
	_, err = c.process.Wait()
	c.out.Close()
	return err
}

// why adds the reason to the error with which the worker ended.
// Explained adds to the error of a refused call why the sandbox refused it, if it says that.
func (c *Client) Explained(err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	for _, d := range slices.Backward(c.process.Refused()) {
		if d.Why != "" {
			return fmt.Errorf("%w: %s", err, d.Why)
		}
	}
	return err
}

func (c *Client) why(err error) error {
	if ctx := c.ctx.Err(); ctx != nil {
		return fmt.Errorf("file worker: %w", ctx)
	}
	c.process.Kill()
	status, waited := c.process.Wait()
	switch {
	case waited != nil:
		return waited
	case status.Signal != 0:
		return fmt.Errorf("%w (signal %d)", err, status.Signal)
	}
	return err
}

// Version is the Info.Version of the file with that device, inode, size in
// bytes and modification time in nanoseconds since 1970.
func Version(dev, ino uint64, size, mtime int64) string {
	return fileworker.Version(dev, ino, size, mtime)
}

// Grep searches regular files line by line for an RE2 pattern. It returns at once when ctx
// ends; a match under way continues until it ends by itself.
func (c *Client) Grep(ctx context.Context, paths []string, pattern string, limits GrepLimits) (GrepResult, error) {
	var result GrepResult
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		result, err = c.Client.Grep(ctx, paths, pattern, limits)
	}()
	select {
	case <-done:
		return result, err
	case <-ctx.Done():
		return GrepResult{}, context.Cause(ctx)
	}
}
