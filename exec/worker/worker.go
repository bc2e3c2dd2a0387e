// Package worker is the client of the file worker, through which codeagent reads and
// changes files from inside the sandbox. It may import the worker's protocol and the
// types of the sandbox, and opens nothing itself: exec starts the worker. Start reading
// at Client.
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

// The types of the worker's protocol. Rooms that use a Client do not import the worker:
// they could serve with it outside the sandbox.
type (
	// Info describes one file.
	Info = fileworker.Info
	// Entry is one name in a folder.
	Entry = fileworker.Entry
	// Listing is what one folder holds.
	Listing = fileworker.Listing
	// Type is "file", "folder", "symlink" or "other".
	Type = fileworker.Type
	// Expect says what must be true of a file for it to be changed.
	Expect = fileworker.Expect
	// GrepLimits bound a search.
	GrepLimits = fileworker.GrepLimits
	// GrepResult is what a search found.
	GrepResult = fileworker.GrepResult
	// Match is one matching line.
	Match = fileworker.Match
	// Error is what an operation ended with: Op, Path, Kind, Errno, Text.
	Error = fileworker.Error
	// ErrorKind groups errors by what is to be done about them.
	ErrorKind = fileworker.Kind
)

// What can go wrong with a file; see the worker's own constants.
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

// Client reads and changes files from inside the sandbox. It may be used from
// several goroutines. Errors are *Error, or say that the worker is gone.
type Client struct {
	ctx     context.Context
	client  *fileworker.Client
	process sandbox.Process
	in, out *os.File
}

// New speaks to a file worker that process runs, with its stdin and stdout. Close it; the
// process is expected to end with ctx.
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

// why explains an error: a worker that is gone cannot give the reason.
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

// Stat describes what path leads to; symbolic links are followed.
func (c *Client) Stat(path string) (Info, error) {
	info, err := c.client.Stat(path)
	return info, c.why(err)
}

// ReadFile returns at most limit bytes (0: 64 MiB) of a regular file from
// offset on. Info.Size tells whether there is more.
func (c *Client) ReadFile(path string, offset, limit int64) ([]byte, Info, error) {
	data, info, err := c.client.ReadFile(path, offset, limit)
	return data, info, c.why(err)
}

// ReadDirs lists folders, one Listing each; together at most limit entries
// (0: 100,000).
func (c *Client) ReadDirs(paths []string, limit int) ([]Listing, error) {
	listings, err := c.client.ReadDirs(paths, limit)
	return listings, c.why(err)
}

// WriteFile gives a file the content data if it is what e expects; mode is for a
// new one (0: 0666 less the umask).
func (c *Client) WriteFile(path string, data []byte, mode fs.FileMode, e Expect) (Info, error) {
	info, err := c.client.WriteFile(path, data, mode, e)
	return info, c.why(err)
}

// Remove takes away a file, a link or an empty folder if it is what e expects.
func (c *Client) Remove(path string, e Expect) error { return c.why(c.client.Remove(path, e)) }

// Rename moves from to to. Unless replace is set, to must not exist.
func (c *Client) Rename(from, to string, replace bool) error {
	return c.why(c.client.Rename(from, to, replace))
}

// Mkdir makes a folder; with parents also those above it that are missing.
func (c *Client) Mkdir(path string, mode fs.FileMode, parents bool) error {
	return c.why(c.client.Mkdir(path, mode, parents))
}

// Put makes path a file with exactly that content and mode, if it is absent or a
// file that e expects, by Absent or Version. What is there is replaced whatever its
// permissions. It is not put on the disk.
func (c *Client) Put(path string, data []byte, mode fs.FileMode, e Expect) (Info, error) {
	info, err := c.client.Put(path, data, mode, e)
	return info, c.why(err)
}

// Chmod sets the permissions of a file or folder, if it has the Version of e.
func (c *Client) Chmod(path string, mode fs.FileMode, e Expect) error {
	return c.why(c.client.Chmod(path, mode, e))
}

// Symlink makes a symbolic link to to where nothing is.
func (c *Client) Symlink(path, to string, e Expect) error {
	return c.why(c.client.Symlink(path, to, e))
}

// Version is the Info.Version of the file with that device, inode, size in
// bytes and modification time in nanoseconds since 1970.
func Version(dev, ino uint64, size, mtime int64) string {
	return fileworker.Version(dev, ino, size, mtime)
}

// Grep searches regular files line by line for an RE2 pattern. The end of ctx ends
// it at once: what is still being matched then is left to end by itself.
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
