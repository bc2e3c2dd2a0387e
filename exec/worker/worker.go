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
	"time"

	"codeagent/internal/fileworker"
	"codeagent/sandbox"
)

// The types of the worker's protocol. Packages that use a Client do not import the worker
// itself, which they could otherwise run outside the sandbox.
type (
	// Info describes one file.
	Info = fileworker.Info
	// Entry is one name in a folder.
	Entry = fileworker.Entry
	// Listing is what one folder holds.
	Listing = fileworker.Listing
	// Type is "file", "folder", "symlink" or "other".
	Type = fileworker.Type
	// Expect is a condition that a file must meet to be changed.
	Expect = fileworker.Expect
	// GrepLimits bound a search.
	GrepLimits = fileworker.GrepLimits
	// GrepResult is what a search found.
	GrepResult = fileworker.GrepResult
	// Match is one matching line.
	Match = fileworker.Match
	// Error is the error of an operation: Op, Path, Kind, Errno, Text.
	Error = fileworker.Error
	// ErrorKind groups errors by how to react to them.
	ErrorKind = fileworker.Kind
)

// Kinds of errors; see the worker's own constants.
const (
	Refused     = fileworker.Refused
	Absent      = fileworker.Absent
	Exists      = fileworker.Exists
	Changed     = fileworker.Changed
	IsFolder    = fileworker.IsFolder
	NotFolder   = fileworker.NotFolder
	IsSymlink   = fileworker.IsSymlink
	Special     = fileworker.Special
	CrossDevice = fileworker.CrossDevice
	Invalid     = fileworker.Invalid
)

// Client reads and changes files inside the sandbox. It may be used from several
// goroutines. Errors are *Error, or say that the worker is gone.
type Client struct {
	ctx     context.Context
	client  *fileworker.Client
	process sandbox.Process
	in, out *os.File
}

// New returns a client for the file worker that process runs, with the worker's stdin and
// stdout. The caller closes it; the process is expected to end with ctx.
func New(ctx context.Context, process sandbox.Process, in, out *os.File) *Client {
	return &Client{ctx: ctx, client: fileworker.NewClient(in, out), process: process, in: in, out: out}
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

// why adds the reason to an error if the worker is gone.
func (c *Client) why(err error) error {
	if err == nil || !errors.Is(err, fileworker.ErrEnded) {
		return err
	}
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

// Stat describes the target of path; it follows symbolic links.
func (c *Client) Stat(path string) (Info, error) {
	info, err := c.client.Stat(path)
	return info, c.why(err)
}

// ReadFile returns at most limit bytes (0: 64 MiB) of a regular file from
// offset on. Info.Size shows whether there is more.
func (c *Client) ReadFile(path string, offset, limit int64) ([]byte, Info, error) {
	data, info, err := c.client.ReadFile(path, offset, limit)
	return data, info, c.why(err)
}

// ReadDirs lists folders, one Listing each, with at most limit entries (0: 100,000) in
// all.
func (c *Client) ReadDirs(paths []string, limit int) ([]Listing, error) {
	listings, err := c.client.ReadDirs(paths, limit)
	return listings, c.why(err)
}

// WriteFile sets the content of a file if the file meets e; mode applies to a new file
// (0: 0666 less the umask).
func (c *Client) WriteFile(path string, data []byte, mode fs.FileMode, e Expect) (Info, error) {
	info, err := c.client.WriteFile(path, data, mode, e)
	return info, c.why(err)
}

// Remove removes a file, a link or an empty folder that meets e.
func (c *Client) Remove(path string, e Expect) error { return c.why(c.client.Remove(path, e)) }

// Rename moves from to to. Unless replace is set, to must not exist.
func (c *Client) Rename(from, to string, replace bool) error {
	return c.why(c.client.Rename(from, to, replace))
}

// Mkdir makes a folder; with parents also the missing ones above it.
func (c *Client) Mkdir(path string, mode fs.FileMode, parents bool) error {
	return c.why(c.client.Mkdir(path, mode, parents))
}

// Put makes path a file with exactly that content and mode, if path is absent or a file
// that meets e, by Absent or Version. It replaces an existing file whatever its permissions.
// It does not sync the file to disk.
func (c *Client) Put(path string, data []byte, mode fs.FileMode, e Expect) (Info, error) {
	info, err := c.client.Put(path, data, mode, e)
	return info, c.why(err)
}

// Chmod sets the permissions of a file or folder that has the Version of e.
func (c *Client) Chmod(path string, mode fs.FileMode, e Expect) error {
	return c.why(c.client.Chmod(path, mode, e))
}

// Symlink makes a symbolic link to to at path, which must not exist.
func (c *Client) Symlink(path, to string, e Expect) error {
	return c.why(c.client.Symlink(path, to, e))
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
		result, err = c.client.Grep(ctx, paths, pattern, limits)
	}()
	select {
	case <-done:
		return result, c.why(err)
	case <-ctx.Done():
		return GrepResult{}, context.Cause(ctx)
	}
}
