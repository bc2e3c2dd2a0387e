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

// Output files are bounded in three ways, each checked before bytes are written:
//
//	one output       Limits.Output, else maxSpill
//	one session      Options.SpillSession: the oldest finished outputs are removed first
//	all sessions     Options.SpillAll: before a file is made, the oldest are removed until it fits
//
// In addition the disk always keeps the free space that spareRoom returns, for the user's
// own work.

const (
	// sessionSpill and allSpill are the defaults of Options.SpillSession and Options.SpillAll.
	sessionSpill = 256 << 20
	allSpill     = 1 << 30
	// spillStep is how many bytes are written between two checks of the disk.
	spillStep = 4 << 20
)

// spareRoom returns how much of a disk of size bytes stays free: 1 GiB, or a twentieth of
// a disk under 20 GiB. A share of a large disk would refuse outputs although thousands
// would fit.
func spareRoom(size int64) int64 { return min(1<<30, size/20) }

// cut is why the rest of an output is not on disk.
type cut struct {
	why string
	// disk: the cause was not a limit.
	disk bool
}

const nearlyFull = "disk nearly full"

func limited(bytes int64, of string) cut {
	return cut{why: fmt.Sprintf("limit of %d MiB%s", bytes>>20, of)}
}

// failedCut returns in words why writing failed.
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

// spillRoom counts the output files of one Runner.
type spillRoom struct {
	session, all int64
	// free returns the free bytes and the size of the disk that holds dir.
	free func(dir *os.File) (free, size int64)

	mu    sync.Mutex
	held  int64
	files []*spill // those with a file, oldest first
}

func newSpillRoom(o Options) *spillRoom {
	return &spillRoom{session: cmp.Or(o.SpillSession, sessionSpill), all: cmp.Or(o.SpillAll, allSpill), free: freeRoom}
}

// freeRoom asks the file system; one that cannot answer counts as empty.
func freeRoom(dir *os.File) (free, size int64) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(dir.Fd()), &st); err != nil || st.Blocks == 0 {
		return 1 << 62, 1 << 62
	}
	return int64(st.Bavail) * int64(st.Bsize), int64(st.Blocks) * int64(st.Bsize)
}

// take reserves up to n more bytes for s, and removes older outputs of the session to make
// room. If it reserves less than n, it returns the reason.
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

// give returns reserved bytes that were not used.
func (r *spillRoom) give(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held -= n
}

// drop removes one finished output; mu is held.
func (r *spillRoom) drop(root *os.Root, i int) {
	_ = root.Remove(r.files[i].name) // it may be gone already
	r.held -= r.files[i].length
	r.files = slices.Delete(r.files, i, i+1)
}

// enough reports whether the disk keeps its spare room after n more bytes.
func (r *spillRoom) enough(dir *os.File, n int64) bool {
	free, size := r.free(dir)
	return free-n >= spareRoom(size)
}

// sweep removes outputs older than spillAge, then the oldest ones until an output of up to
// most bytes fits below the bound of all sessions and on the disk. It skips outputs that are
// being written.
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

// removeIdle removes an output unless its writer still holds a lock on it.
func removeIdle(root *os.Root, name string) bool {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return root.Remove(name) == nil
	}
	defer f.Close()
	if errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK) {
		return false
	}
	return root.Remove(name) == nil // on failure the next sweep tries again
}
