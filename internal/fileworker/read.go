package fileworker

import (
	"bytes"
	"os"
	"syscall"
)

// stat follows symbolic links: the sandbox limits where they can lead.
func stat(path string) (Info, error) {
	if err := checkPath(path); err != nil {
		return Info{}, err
	}
	fi, err := statFile(path)
	if err != nil {
		return Info{}, err
	}
	return infoOf(fi), nil
}

// file is an open regular file, read with plain system calls: the runtime's poller would wait
// if a read returned EAGAIN.
type file struct {
	fd   int
	info Info
}

// openRegular opens a file for reading and never blocks. It refuses anything except a regular
// file before the open, because opening a device may have effects, and again afterwards, in
// case the file was swapped.
func openRegular(path string) (*file, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	fi, err := statFile(path)
	if err != nil {
		return nil, err
	}
	if err := wantRegular(fi); err != nil {
		return nil, err
	}
	fd, err := retry(func() (int, error) {
		return syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC|syscall.O_NOCTTY, 0)
	})
	if err != nil {
		return nil, err
	}
	var st syscall.Stat_t
	own, ok := fi.Sys().(*syscall.Stat_t)
	switch err = syscall.Fstat(fd, &st); {
	case err != nil:
	case st.Mode&syscall.S_IFMT != syscall.S_IFREG:
		err = fail(Special, "not a regular file")
	case ok && (own.Ino != st.Ino || own.Dev != st.Dev):
		err = fail(Changed, "the file was replaced while it was opened")
	}
	if err != nil {
		syscall.Close(fd)
		return nil, err
	}
	return &file{fd, infoOf(fi)}, nil
}

func (f *file) close() { syscall.Close(f.fd) }

// readAt fills buf from offset and returns the number of bytes read.
func (f *file) readAt(buf []byte, offset int64) (int, error) {
	done := 0
	for done < len(buf) {
		n, err := retry(func() (int, error) { return syscall.Pread(f.fd, buf[done:], offset+int64(done)) })
		if err != nil {
			return done, err
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

// read returns at most limit bytes from offset.
func (f *file) read(offset, limit int64) ([]byte, error) {
	// Files of /proc have size 0 and content, so the size is only an estimate: one byte beyond
	// it shows that there is more.
	buf := make([]byte, min(limit, max(0, f.info.Size-offset)+512))
	n := 0
	for {
		got, err := f.readAt(buf[n:], offset+int64(n))
		if err != nil {
			return nil, err
		}
		n += got
		if n < len(buf) || int64(n) == limit {
			return buf[:n], nil
		}
		buf = append(buf, make([]byte, min(limit-int64(n), int64(len(buf))))...)
	}
}

// readFile returns at most limit bytes from offset; a limit of 0 means MaxData.
func readFile(path string, offset, limit int64) ([]byte, Info, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, Info{}, err
	}
	defer f.close()
	if offset < 0 || limit < 0 {
		return nil, Info{}, fail(Invalid, "offset and limit must not be negative")
	}
	if limit == 0 || limit > MaxData {
		limit = MaxData
	}
	data, err := f.read(offset, limit)
	return data, f.info, err
}

func wantRegular(fi os.FileInfo) error {
	switch typeOf(fi.Mode()) {
	case File:
		return nil
	case Folder:
		return fail(IsFolder, "is a folder")
	case Symlink:
		return fail(IsSymlink, "is a symbolic link")
	}
	return fail(Special, "not a regular file")
}

// readDirs lists each folder; together they return at most limit entries.
func readDirs(paths []string, limit int) []Listing {
	if limit <= 0 || limit > MaxEntries {
		limit = MaxEntries
	}
	listings := make([]Listing, 0, len(paths))
	for _, path := range paths {
		var l Listing
		if err := l.read(path, limit); err != nil {
			l.Err = about(path, err)
			l.Err.Op = opList
		}
		limit -= len(l.Entries)
		listings = append(listings, l)
	}
	return listings
}

// read lists the folder, at most limit entries.
func (l *Listing) read(path string, limit int) error {
	if err := checkPath(path); err != nil {
		return err
	}
	// With "/." the kernel refuses anything but a folder instead of opening it: a FIFO
	// would block.
	dir, err := os.Open(path + "/.")
	if err != nil {
		return err
	}
	defer dir.Close()
	for {
		batch, err := dir.ReadDir(1024)
		for _, e := range batch {
			if len(l.Entries) == limit {
				l.More = true
				return nil
			}
			if !isAbsent(e) {
				l.Entries = append(l.Entries, Entry{e.Name(), typeOf(e.Type())})
			}
		}
		if err != nil || len(batch) == 0 {
			return nil
		}
	}
}

// isAbsent reports a placeholder.
func isAbsent(e os.DirEntry) bool {
	if !e.Type().IsRegular() {
		return false
	}
	fi, err := e.Info()
	return err == nil && isPlaceholder(fi)
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
	f, err := openRegular(path)
	if err != nil {
		return content{state: contentUnreadable}
	}
	defer f.close()
	if f.info.Size > limit {
		return content{state: contentLarge}
	}
	data, err := f.read(0, limit+1)
	switch {
	case err != nil:
		return content{state: contentUnreadable}
	case bytes.IndexByte(data[:min(len(data), 8<<10)], 0) >= 0:
		return content{state: contentBinary}
	case int64(len(data)) > limit:
		return content{state: contentLarge}
	}
	return content{data: data}
}
