package exec

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"sort"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Output files are bounded in two ways:
//
//	one output       Limits.Output, else maxSpill, before bytes are written
//	all outputs      Options.SpillAll: before a file is made, the oldest are removed until it fits
//
// In addition the disk always keeps the free space that spareRoom returns, for the user's
// own work.

const (
	// allSpill is the default of Options.SpillAll.
	allSpill = 1 << 30
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

// spillRoom is the room for the output files of one Runner.
type spillRoom struct {
	all int64
	// free returns the free bytes and the size of the disk that holds dir.
	free func(dir *os.File) (free, size int64)
}

func newSpillRoom(o Options) *spillRoom {
	return &spillRoom{all: cmp.Or(o.SpillAll, allSpill), free: freeRoom}
}

// freeRoom asks the file system; one that cannot answer counts as empty.
func freeRoom(dir *os.File) (free, size int64) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(dir.Fd()), &st); err != nil || st.Blocks == 0 {
		return 1 << 62, 1 << 62
	}
	return int64(st.Bavail) * int64(st.Bsize), int64(st.Blocks) * int64(st.Bsize)
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
	sort.Slice(list, func(i, j int) bool { return list[i].ModTime().Before(list[j].ModTime()) })
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
