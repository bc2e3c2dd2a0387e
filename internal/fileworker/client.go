package fileworker

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"sort"
	"sync"
)

// ErrEnded reports that the worker is gone: it was stopped, or it died.
var ErrEnded = errors.New("the file worker ended")

// Client sends requests to a worker over two streams. It may be used from several
// goroutines; requests are served one after the other. Errors are *Error, or
// wrap ErrEnded once the worker is gone.
type Client struct {
	// Ended, if set, explains the error with which the worker ended.
	Ended func(error) error
	// Looked, if set, gets each path before a request looks it up, and whether it opens it.
	Looked func(path string, opened bool)

	mu sync.Mutex
	w  io.Writer
	r  *bufio.Reader
	// broken is set after a stream has failed: the streams are then out of step.
	broken error
}

// NewClient returns a client that writes requests to w and reads answers from r.
func NewClient(w io.Writer, r io.Reader) *Client {
	return &Client{w: w, r: bufio.NewReaderSize(r, 64<<10)}
}

// ask returns the answer to q, an empty one with an error.
func (c *Client) ask(q *request) (*answer, error) {
	switch {
	case len(q.data) > MaxData:
		return &answer{}, &Error{Op: q.op, Path: q.path, Kind: Invalid, Text: "more than 64 MiB at once"}
	case len(q.paths) > MaxPaths:
		return &answer{}, &Error{Op: q.op, Kind: Invalid, Text: "too many paths at once"}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken != nil {
		return &answer{}, c.broken
	}
	if c.Looked != nil {
		for _, path := range q.paths {
			c.Looked(path, true)
		}
		if q.path != "" {
			c.Looked(q.path, q.op != opStat)
		}
	}
	a, err := c.exchange(q)
	switch {
	case err != nil:
		if c.broken = errors.Join(ErrEnded, err); c.Ended != nil {
			c.broken = c.Ended(c.broken)
		}
		return &answer{}, c.broken
	case a.err != nil:
		return &answer{}, a.err
	}
	return a, nil
}

// exchange sends q and reads the answer. mu is held.
func (c *Client) exchange(q *request) (*answer, error) {
	if err := writeFrame(c.w, encode(q)); err != nil {
		return nil, err
	}
	body, err := readFrame(c.r)
	if err != nil {
		return nil, err
	}
	var a answer
	if !decode(body, &a) {
		return nil, ErrFrame
	}
	return &a, nil
}

// Stat describes the target of path; it follows symbolic links.
func (c *Client) Stat(path string) (Info, error) {
	a, err := c.ask(&request{op: opStat, path: path})
	return a.info, err
}

// ReadFile returns at most limit bytes of a regular file from offset on; a limit of 0,
// or above MaxData, means MaxData. Info.Size shows whether there is more.
func (c *Client) ReadFile(path string, offset, limit int64) ([]byte, Info, error) {
	a, err := c.ask(&request{op: opRead, path: path, offset: offset, limit: limit})
	return a.data, a.info, err
}

// ReadDirs lists the folders, one Listing each in the same order, with at most limit entries
// (0: MaxEntries) in all.
func (c *Client) ReadDirs(paths []string, limit int) ([]Listing, error) {
	a, err := c.ask(&request{op: opList, paths: paths, limit: int64(limit)})
	for _, l := range a.listings {
		sort.Slice(l.Entries, func(i, j int) bool { return l.Entries[i].Name < l.Entries[j].Name })
	}
	return a.listings, err
}

// WriteFile sets the content of a file that meets e. mode applies to a new file (0: 0666 less
// the umask); an existing file keeps its own.
func (c *Client) WriteFile(path string, data []byte, mode fs.FileMode, e Expect) (Info, error) {
	a, err := c.ask(&request{op: opWrite, path: path, data: data, mode: mode, expect: e})
	return a.info, err
}

// Remove removes one file, link or empty folder that meets e.
func (c *Client) Remove(path string, e Expect) error {
	_, err := c.ask(&request{op: opRemove, path: path, expect: e})
	return err
}

// Mkdir makes a folder (mode 0: 0777 less the umask). With parents it also makes the
// missing folders above, and an existing folder is not an error.
func (c *Client) Mkdir(path string, mode fs.FileMode, parents bool) error {
	_, err := c.ask(&request{op: opMkdir, path: path, mode: mode, flag: parents})
	return err
}

// Put makes path a file with exactly that content and mode, if it is absent or a file
// that meets e (Content is ignored). It replaces an existing file whatever its permissions.
// It does not sync the file to disk.
func (c *Client) Put(path string, data []byte, mode fs.FileMode, e Expect) (Info, error) {
	a, err := c.ask(&request{op: opPut, path: path, data: data, mode: mode, expect: e})
	return a.info, err
}

// Chmod sets the permissions of a file or folder, which must have the version of e if e has
// one.
func (c *Client) Chmod(path string, mode fs.FileMode, e Expect) error {
	_, err := c.ask(&request{op: opChmod, path: path, mode: mode, expect: e})
	return err
}

// Symlink makes a symbolic link to to at path, which must not exist; e.Parents creates
// missing folders above it.
func (c *Client) Symlink(path, to string, e Expect) error {
	_, err := c.ask(&request{op: opSymlink, path: path, to: to, expect: e})
	return err
}
