package hostfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

// Copy copies what commands made to a new name. Threat: it contains links, pipes and names that other programs
// obey, it changes meanwhile, and it grows without an end. So only folders and the content of regular files are
// copied, each entry after Judge was asked, nothing is replaced, and a bound ends it.
type Copy struct {
	// Judge returns why there may be no copy of from at to.
	Judge func(to, from string) error
	// Left gets why an entry was left out. Its error ends the copy; nil: the first such entry ends it.
	Left func(error) error
	// Perm are the permissions that a file may keep, less the umask. Folders stay open to the user.
	Perm fs.FileMode
	// Made are the paths that the last New made.
	Made []string

	entries int
	size    int64
}

// mostCopied bounds the entries of all that a Copy makes, and mostCopiedSize their bytes.
const mostCopied, mostCopiedSize = 100_000, 1 << 30

var errCopied = fmt.Errorf("there is too much: a copy has at most %d entries and %d MiB", mostCopied, mostCopiedSize>>20)

// New copies the file or folder at from to to, where nothing may be. After an error nothing that it made is left
// at to.
func (c *Copy) New(from, to string) error {
	entries, size := c.entries, c.size
	c.Made = nil
	err := c.entry(from, to)
	if err != nil {
		c.entries, c.size = entries, size
		for _, path := range slices.Backward(c.Made) {
			_ = Remove(path)
		}
	}
	return err
}

func (c *Copy) entry(from, to string) error {
	if c.entries++; c.entries > mostCopied {
		return errCopied
	}
	info, err := Lstat(from)
	if err == nil {
		err = c.Judge(to, from)
	}
	if err != nil {
		return c.leave(err)
	}
	if !info.IsDir() {
		return c.file(from, to)
	}
	list, err := ReadDir(from, mostCopied)
	if err != nil {
		return c.leave(err)
	}
	if err = Mkdir(to, info.Mode().Perm()|0o700); err != nil {
		return err
	}
	c.Made = append(c.Made, to)
	for _, e := range list {
		if err := c.entry(from+"/"+e.Name(), to+"/"+e.Name()); err != nil {
			return err
		}
	}
	return nil
}

func (c *Copy) leave(err error) error {
	if c.Left == nil {
		return err
	}
	return c.Left(err)
}

func (c *Copy) file(from, to string) error {
	in, err := Open(from)
	if err != nil {
		return c.leave(err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return c.leave(err)
	}
	if c.size += info.Size(); c.size > mostCopiedSize {
		return errCopied
	}
	out, err := OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode()&c.Perm)
	if err != nil {
		return err
	}
	c.Made = append(c.Made, to)
	_, err = io.Copy(out, io.LimitReader(in, info.Size()))
	return errors.Join(err, out.Close())
}
