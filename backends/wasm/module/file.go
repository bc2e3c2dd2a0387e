package module

import (
	"cmp"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/tetratelabs/wazero/experimental/sys"
	wasi "github.com/tetratelabs/wazero/sys"
	"golang.org/x/sys/unix"
)

// offset has a name of its own, since go vet takes Seek(int64, int) for a method of io.Seeker.
type offset = int64

// file is an open file, folder or device.
type file struct {
	sys.UnimplementedFile
	f *os.File
	// write: it was opened to be changed, which its times need too.
	write, appends bool
}

func (o *file) stat() (st unix.Stat_t, errno sys.Errno) {
	return st, errnoOf(unix.Fstat(int(o.f.Fd()), &st))
}

// Stat is part of sys.File, as the methods below.
func (o *file) Stat() (wasi.Stat_t, sys.Errno) {
	st, errno := o.stat()
	return statOf(&st), errno
}

func (o *file) Ino() (wasi.Inode, sys.Errno) {
	st, errno := o.stat()
	return st.Ino, errno
}

func (o *file) IsDir() (bool, sys.Errno) {
	st, errno := o.stat()
	return uint32(st.Mode)&unix.S_IFMT == unix.S_IFDIR, errno
}

func (o *file) IsAppend() bool { return o.appends }

func (o *file) SetAppend(enable bool) sys.Errno {
	flags, err := unix.FcntlInt(o.f.Fd(), unix.F_GETFL, 0)
	if err == nil {
		if flags &^= unix.O_APPEND; enable {
			flags |= unix.O_APPEND
		}
		_, err = unix.FcntlInt(o.f.Fd(), unix.F_SETFL, flags)
		o.appends = enable
	}
	return errnoOf(err)
}

func (o *file) Read(buf []byte) (int, sys.Errno) { return done(o.f.Read(buf)) }

func (o *file) Pread(buf []byte, at int64) (int, sys.Errno) { return done(o.f.ReadAt(buf, at)) }

func (o *file) Write(buf []byte) (int, sys.Errno) { return done(o.f.Write(buf)) }

func (o *file) Pwrite(buf []byte, at int64) (int, sys.Errno) { return done(o.f.WriteAt(buf, at)) }

// done: the end of a file is no error.
func done(n int, err error) (int, sys.Errno) {
	if err == io.EOF {
		err = nil
	}
	return n, errnoOf(err)
}

func (o *file) Seek(to offset, whence int) (int64, sys.Errno) {
	at, err := o.f.Seek(to, whence)
	return at, errnoOf(err)
}

func (o *file) Readdir(n int) (out []sys.Dirent, errno sys.Errno) {
	entries, err := o.f.ReadDir(n)
	for _, e := range entries {
		var st unix.Stat_t
		if unix.Fstatat(int(o.f.Fd()), e.Name(), &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
			out = append(out, sys.Dirent{Ino: st.Ino, Name: e.Name(), Type: e.Type()})
		}
	}
	_, errno = done(0, err)
	return out, errno
}

func (o *file) Truncate(size int64) sys.Errno { return errnoOf(o.f.Truncate(size)) }

func (o *file) Sync() sys.Errno { return errnoOf(o.f.Sync()) }

func (o *file) Datasync() sys.Errno { return o.Sync() }

func (o *file) Utimens(atim, mtim int64) sys.Errno {
	st, errno := o.stat()
	if errno != 0 || !o.write {
		return cmp.Or(errno, sys.EACCES)
	}
	both := times(&st, atim, mtim)
	return errnoOf(unix.Futimes(int(o.f.Fd()), []unix.Timeval{unix.NsecToTimeval(both[0].Nano()), unix.NsecToTimeval(both[1].Nano())}))
}

func (o *file) Close() sys.Errno { return errnoOf(o.f.Close()) }

// times are the access and modification times to set; what a module omits stays.
func times(st *unix.Stat_t, atim, mtim int64) []unix.Timespec {
	both := []unix.Timespec{st.Atim, st.Mtim}
	for i, at := range []int64{atim, mtim} {
		if at != sys.UTIME_OMIT {
			both[i] = unix.NsecToTimespec(at)
		}
	}
	return both
}

// kinds are the kinds of files by the kernel's bits.
var kinds = map[uint32]fs.FileMode{
	unix.S_IFDIR: fs.ModeDir, unix.S_IFLNK: fs.ModeSymlink, unix.S_IFIFO: fs.ModeNamedPipe,
	unix.S_IFSOCK: fs.ModeSocket, unix.S_IFCHR: fs.ModeDevice | fs.ModeCharDevice, unix.S_IFBLK: fs.ModeDevice,
}

func statOf(st *unix.Stat_t) wasi.Stat_t {
	mode := uint32(st.Mode)
	return wasi.Stat_t{
		Dev: uint64(st.Dev), Ino: st.Ino, Mode: fs.FileMode(mode&0o777) | kinds[mode&syscall.S_IFMT], Nlink: uint64(st.Nlink),
		Size: st.Size, Atim: st.Atim.Nano(), Mtim: st.Mtim.Nano(), Ctim: st.Ctim.Nano(),
	}
}
