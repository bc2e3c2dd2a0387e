//go:build linux

package linuxsandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"codeagent/linuxsandbox/keeper"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/program"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// guard watches one of codeagent's own files for the life of the Backend.
type guard struct {
	file spec.OwnFile
	// owned means that Source was opened for this guard, which closes it.
	owned bool
	// fresh means that the file had changed so shortly before the guard looked at it that a later
	// change could have the same time stamp.
	fresh bool
}

// clockTick is longer than the time stamp granularity of any kernel (HZ=100).
const clockTick = 20 * time.Millisecond

// watchOwn returns the guards of files, and creates or updates them first. The caller holds b.mu.
func (b *Backend) watchOwn(files []spec.OwnFile) ([]*guard, error) {
	var out []*guard
	for _, own := range files {
		g := b.guards[own.Path]
		// A change made while no command ran is the user's own, such as a rebuild.
		if g == nil || b.running == 0 && g.differs() {
			var err error
			if g, err = b.newGuard(own); err != nil {
				return nil, fmt.Errorf("codeagent's own %s: %w", own.Path, err)
			}
			if old := b.guards[own.Path]; old != nil {
				old.close()
			}
			b.guards[own.Path] = g
		}
		out = append(out, g)
	}
	return out, nil
}

func (b *Backend) newGuard(own spec.OwnFile) (*guard, error) {
	own.Source = -1
	path, g := own.Path, &guard{file: own}
	var err error
	if g.file.Dirs, err = dirModes(own.Root, path); err != nil {
		return nil, err
	}
	if g.file.State, err = keeper.StateAt(path); err != nil || !g.file.State.Exists {
		return g, err
	}
	helper, err := b.helper()
	if err != nil {
		return nil, err
	}
	s := g.file.State
	g.fresh = time.Since(time.Unix(s.Ctime.Unix())) < clockTick
	switch {
	case s.Dev == helper.state.Dev && s.Ino == helper.state.Ino && s.Size == helper.state.Size && s.Mtime == helper.state.Mtime:
		g.file.Source = helper.fd
	case s.Dev == b.exe.state.Dev && s.Ino == b.exe.state.Ino:
		// The kernel lets nobody write to a running program (ETXTBSY).
		g.file.Source, g.file.SourceState = b.exe.fd, &b.exe.state
	default:
		fd, err := openOwn(path)
		if err != nil {
			return nil, err
		}
		defer unix.Close(fd)
		copied, err := program.SealedCopy(fd, "own-file", io.Discard)
		if err != nil {
			return nil, err
		}
		g.file.Source, g.owned = copied.FD, true
	}
	return g, nil
}

// openOwn opens a file for reading, through no link.
func openOwn(path string) (int, error) {
	return unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags: unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NONBLOCK, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
}

// differs reports whether the file has changed since the guard last looked at it.
func (g *guard) differs() bool {
	if keeper.Changed(g.file) {
		return true
	}
	if !g.fresh || !g.file.State.Exists {
		return false
	}
	old := time.Since(time.Unix(g.file.State.Ctime.Unix())) >= clockTick
	if !sameContent(g.file.Path, g.file.Source) {
		return true
	}
	g.fresh = !old // a later change gets another time stamp
	return false
}

// settle undoes what the command did to the file. It returns a denial if the file had changed, and
// an error if it could not be restored.
func (g *guard) settle() (*sandbox.Denial, error) {
	if !g.differs() {
		return nil, nil
	}
	d := &sandbox.Denial{
		Kind: sandbox.KindProtected, Operation: "restored", Target: g.file.Path,
		Evidence: sandbox.EvidenceBackend, Count: 1,
	}
	state, err := keeper.Restore(g.file)
	if err != nil {
		d.Operation = "not restored"
		return d, fmt.Errorf("the command changed codeagent's own %s, and it could not be put back; run make build, or reinstall codeagent: %w",
			g.file.Path, err)
	}
	g.file.State, g.fresh = state, true
	return d, nil
}

func (g *guard) close() {
	if g.owned {
		unix.Close(g.file.Source)
	}
}

// sameContent compares a file with its copy byte by byte.
func sameContent(path string, source int) bool {
	fd, err := openOwn(path)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	a, b := make([]byte, 64<<10), make([]byte, 64<<10)
	for off := int64(0); ; {
		n, err1 := unix.Pread(fd, a, off)
		m, err2 := unix.Pread(source, b[:max(n, 1)], off)
		if err1 != nil || err2 != nil || n != m || string(a[:n]) != string(b[:m]) {
			return false
		}
		if n == 0 {
			return true
		}
		off += int64(n)
	}
}

// dirModes returns the modes of root and of each folder between root and path.
func dirModes(root, path string) ([]uint32, error) {
	var modes []uint32
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		st, err := kernel.StatPath(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		if err != nil {
			st.Mode = 0o755 // this folder does not exist yet
		}
		modes = append(modes, st.Mode)
		if dir == root || dir == "/" {
			break
		}
	}
	slices.Reverse(modes)
	return modes, nil
}
