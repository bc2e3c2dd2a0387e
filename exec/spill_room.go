package exec

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Outputs on disk are bounded three ways, each checked before bytes are written:
//
//	one output       Limits.Output, else maxSpill
//	one session      Options.SpillSession: the oldest finished outputs go first
//	all sessions     Options.SpillAll: when a file is made, the oldest go until it fits
//
// and never is less left free on the disk than spareRoom says: what the user works on
// needs the last bytes more.

const (
	// sessionSpill and allSpill are the bounds where the options name none.
	sessionSpill = 256 << 20
	allSpill     = 1 << 30
	// spillStep is how much is written between two looks at the disk.
	spillStep = 4 << 20
)

// spareRoom is how much of a disk of so many bytes stays free: 1 GiB, of a disk under
// 20 GiB a twentieth. A share of a large disk would refuse outputs where there is room
// for thousands.
func spareRoom(size int64) int64 { return min(1<<30, size/20) }

// cut is why the rest of an output is not on disk.
type cut struct {
	why string
	// disk: it was not a limit.
	disk bool
}

const nearlyFull = "disk nearly full"

func limited(bytes int64, of string) cut {
	return cut{why: fmt.Sprintf("limit of %d MiB%s", bytes>>20, of)}
}

// failedCut says in words why writing failed.
func failedCut(err error) cut {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return cut{nearlyFull, true}
	case errors.Is(err, syscall.EFBIG):
		return cut{"the largest file size is reached (ulimit -f)", true}
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return cut{"it cannot be written: " + err.Error(), true}
}

// spillRoom is what the outputs of one Runner take.
type spillRoom struct {
	session, all int64
	// free says how much of the disk of a folder is free, and how large that is.
	free func(dir *os.File) (free, size int64)

	mu    sync.Mutex
	held  int64
	files []*spill // those with a file, oldest first
}

func newSpillRoom(o Options) *spillRoom {
	return &spillRoom{session: cmp.Or(o.SpillSession, sessionSpill), all: cmp.Or(o.SpillAll, allSpill), free: freeRoom}
}

// freeRoom asks the file system; one that cannot say counts as empty.
func freeRoom(dir *os.File) (free, size int64) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(dir.Fd()), &st); err != nil || st.Blocks == 0 {
		return 1 << 62, 1 << 62
	}
	return int64(st.Bavail) * int64(st.Bsize), int64(st.Blocks) * int64(st.Bsize)
}

// take gives s room for up to n more bytes, and removes older outputs of the session for
// it. Less than n comes with the reason.
func (r *spillRoom) take(s *spill, n int64) (int64, cut) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.held+n > r.session {
		i := slices.IndexFunc(r.files, func(f *spill) bool { return f.done })
		if i < 0 {
			break
		}
		r.drop(s.root, i)
	}
	if room := r.session - r.held; n > room {
		n = max(0, room)
		r.held += n
		return n, limited(r.session, " for the outputs of a session")
	}
	r.held += n
	return n, cut{}
}

// give takes back room that was not used.
func (r *spillRoom) give(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held -= n
}

// drop removes one finished output. Called with mu held.
func (r *spillRoom) drop(root *os.Root, i int) {
	_ = root.Remove(r.files[i].name) // it may be gone
	r.held -= r.files[i].length
	r.files = slices.Delete(r.files, i, i+1)
}

// enough reports whether n more bytes leave the disk its spare room.
func (r *spillRoom) enough(dir *os.File, n int64) bool {
	free, size := r.free(dir)
	return free-n >= spareRoom(size)
}

// sweep removes the outputs of former weeks, and the oldest ones until one of up to most
// bytes fits below the bound of all sessions and the disk has room for it. One that is being written is left alone.
func (r *spillRoom) sweep(root *os.Root, dir *os.File, most int64) {
	entries, err := dir.ReadDir(10_000)
	if err != nil {
		return
	}
	var list []fs.FileInfo
	var total int64
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), spillPrefix) || !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil {
			list = append(list, info)
			total += info.Size()
		}
	}
	slices.SortFunc(list, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range list {
		if time.Since(info.ModTime()) <= spillAge && total+most <= r.all && r.enough(dir, most) {
			return
		}
		if removeIdle(root, info.Name()) {
			total -= info.Size()
		}
	}
}

// removeIdle removes an output that nobody writes: its writer holds a lock on it.
func removeIdle(root *os.Root, name string) bool {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return root.Remove(name) == nil
	}
	defer f.Close()
	if errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK) {
		return false
	}
	return root.Remove(name) == nil // the next sweep tries again
}
