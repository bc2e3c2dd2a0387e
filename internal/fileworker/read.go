package fileworker

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
)

// stat follows symbolic links: the sandbox limits where they can lead.
func stat(path string) (Info, error) {
	if err := checkPath("stat", path); err != nil {
		return Info{}, err
	}
	fi, err := statFile("stat", path)
	if err != nil {
		return Info{}, err
	}
	return infoOf(fi), nil
}

// file is an open regular file, read with plain system calls: the runtime's poller would wait
// if a read returned EAGAIN.
type file struct {
	op, path string
	fd       int
	info     Info
}

// openRegular opens a file for reading and never blocks. It refuses anything except a regular
// file before the open, because opening a device may have effects, and again afterwards, in
// case the file was swapped.
func openRegular(op, path string) (*file, error) {
	if err := checkPath(op, path); err != nil {
		return nil, err
	}
	fi, err := statFile(op, path)
	if err != nil {
		return nil, err
	}
	if err := wantRegular(op, path, fi); err != nil {
		return nil, err
	}
	fd, err := retry(func() (int, error) {
		return syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC|syscall.O_NOCTTY, 0)
	})
	if err != nil {
		return nil, wrap(op, path, err)
	}
	f := &file{op: op, path: path, fd: fd}
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		f.close()
		return nil, wrap(op, path, err)
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFREG {
		f.close()
		return nil, fail(op, path, Special, "not a regular file")
	}
	f.info = infoOf(fi)
	if own, ok := fi.Sys().(*syscall.Stat_t); ok && (own.Ino != st.Ino || own.Dev != st.Dev) {
		f.close()
		return nil, fail(op, path, Changed, "the file was replaced while it was opened")
	}
	return f, nil
}

func (f *file) close() { syscall.Close(f.fd) }

// readAt fills buf from offset and returns the number of bytes read.
func (f *file) readAt(buf []byte, offset int64) (int, error) {
	done := 0
	for done < len(buf) {
		n, err := retry(func() (int, error) { return syscall.Pread(f.fd, buf[done:], offset+int64(done)) })
		if err != nil {
			return done, wrap(f.op, f.path, err)
		}
		if n == 0 {
			break
		}
		done += n
	}
	return done, nil
}

func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != syscall.EINTR {
			return n, err
		}
	}
}

// readFile returns at most limit bytes from offset; a limit of 0 means MaxData.
func readFile(path string, offset, limit int64) ([]byte, Info, error) {
	f, err := openRegular("read", path)
	if err != nil {
		return nil, Info{}, err
	}
	defer f.close()
	if offset < 0 || limit < 0 {
		return nil, Info{}, fail("read", path, Invalid, "offset and limit must not be negative")
	}
	if limit == 0 || limit > MaxData {
		limit = MaxData
	}
	// Files of /proc have size 0 and content, so the size is only an estimate: one byte beyond
	// it shows that there is more.
	buf := make([]byte, min(limit, max(0, f.info.Size-offset)+4096))
	n := 0
	for {
		got, err := f.readAt(buf[n:], offset+int64(n))
		if err != nil {
			return nil, Info{}, err
		}
		n += got
		if n < len(buf) || int64(n) == limit {
			return buf[:n], f.info, nil
		}
		buf = append(buf, make([]byte, min(limit-int64(n), int64(len(buf))))...)
	}
}

func wantRegular(op, path string, fi os.FileInfo) error {
	switch typeOf(fi.Mode()) {
	case File:
		return nil
	case Folder:
		return fail(op, path, IsFolder, "is a folder")
	case Symlink:
		return fail(op, path, IsSymlink, "is a symbolic link")
	}
	return fail(op, path, Special, "not a regular file")
}

// readDirs lists each folder; together they return at most limit entries.
func readDirs(paths []string, limit int) []Listing {
	if limit <= 0 || limit > MaxEntries {
		limit = MaxEntries
	}
	listings := make([]Listing, 0, len(paths))
	for _, path := range paths {
		l := readDir(path, limit)
		limit -= len(l.Entries)
		listings = append(listings, l)
	}
	return listings
}

func readDir(path string, limit int) Listing {
	l := Listing{Path: path}
	if err := checkPath("list", path); err != nil {
		l.Err = wrap("list", path, err)
		return l
	}
	// With "/." the kernel refuses anything but a folder instead of opening it: a FIFO
	// would block.
	dir, err := os.Open(path + "/.")
	if err != nil {
		l.Err = wrap("list", path, err)
		return l
	}
	defer dir.Close()
	for {
		batch, err := dir.ReadDir(1024)
		for _, e := range batch {
			if len(l.Entries) == limit {
				l.More = true
				break
			}
			if entry, ok := entryOf(path, e); ok {
				l.Entries = append(l.Entries, entry)
			}
		}
		if err != nil || len(batch) == 0 || l.More {
			break
		}
	}
	return l
}

// entryOf returns false for an entry that counts as absent.
func entryOf(dir string, e os.DirEntry) (Entry, bool) {
	entry := Entry{Name: e.Name(), Type: typeOf(e.Type())}
	if entry.Type == File {
		if fi, err := os.Lstat(filepath.Join(dir, e.Name())); err == nil {
			entry.Size = fi.Size()
			return entry, !isPlaceholder(fi)
		}
	}
	return entry, true
}

// content is the content of one file from readMany.
type content struct {
	state contentState
	data  []byte
}

type contentState int

const (
	contentText contentState = iota
	contentBinary
	contentLarge
	contentUnreadable
)

// manyBytes is the size of one answer of readMany: large enough to be worth a round trip, small
// enough for the cache.
const manyBytes = 2 << 20

// readMany reads whole text files of at most limit bytes each, in order, until the answer is
// full; it returns at least one. The caller requests the rest again.
func readMany(paths []string, limit int64) []content {
	var list []content
	total := 0
	for _, path := range paths {
		c := readText(path, limit)
		list = append(list, c)
		if total += len(c.data) + 64; total >= manyBytes {
			break
		}
	}
	return list
}

func readText(path string, limit int64) content {
	f, err := openRegular("grep", path)
	if err != nil {
		return content{state: contentUnreadable}
	}
	defer f.close()
	if f.info.Size > limit {
		return content{state: contentLarge}
	}
	buf := make([]byte, max(f.info.Size, 512)+1)
	n := 0
	for {
		got, err := f.readAt(buf[n:], int64(n))
		if err != nil {
			return content{state: contentUnreadable}
		}
		if n == 0 && bytes.IndexByte(buf[:min(got, 8<<10)], 0) >= 0 {
			return content{state: contentBinary}
		}
		n += got
		switch {
		case int64(n) > limit:
			return content{state: contentLarge}
		case n < len(buf):
			return content{data: buf[:n]}
		}
		buf = append(buf, make([]byte, len(buf))...)
	}
}
