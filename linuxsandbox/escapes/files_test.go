//go:build linux

package escapes

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"golang.org/x/sys/unix"
)

// outside is a row that changes a file outside of every write root.
func outside(name, escape string, do func(p place) error) attempt {
	return attempt{name: name, escape: escape, protects: "files outside the write roots", do: do}
}

// writeAt opens path with flags, relative to a directory, and writes.
func writeAt(dir int, path string, flags int) error {
	fd, err := unix.Openat(dir, path, flags|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte("changed"))
	return err
}

func writeTo(path string, flags int) error { return writeAt(unix.AT_FDCWD, path, flags) }

// withFD calls f with a descriptor of path.
func withFD(path string, flags int, f func(fd int) error) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return f(fd)
}

const create = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL

// fileEscapes change files outside, by every call that can.
func fileEscapes() []attempt {
	return []attempt{
		outside("create", "E18", func(p place) error { return writeTo(p.out+"/new", create) }),
		outside("overwrite", "E18", func(p place) error { return writeTo(p.out+"/file", unix.O_WRONLY) }),
		outside("append", "E18", func(p place) error { return writeTo(p.out+"/file", unix.O_WRONLY|unix.O_APPEND) }),
		outside("open to read and write", "E18", func(p place) error { return writeTo(p.out+"/file", unix.O_RDWR) }),
		outside("empty by open", "E20", func(p place) error {
			return withFD(p.out+"/file", unix.O_WRONLY|unix.O_TRUNC, func(int) error { return nil })
		}),
		outside("empty by an open to read", "E20", func(p place) error {
			return withFD(p.out+"/file", unix.O_RDONLY|unix.O_TRUNC, func(int) error { return nil })
		}),
		outside("create by an open to read", "E18", func(p place) error {
			return withFD(p.out+"/new", unix.O_RDONLY|unix.O_CREAT, func(int) error { return nil })
		}),
		outside("empty by an open for ioctl alone", "E20", func(p place) error {
			return withFD(p.out+"/file", unix.O_ACCMODE|unix.O_TRUNC, func(int) error { return nil })
		}),
		outside("truncate", "E20", func(p place) error { return unix.Truncate(p.out+"/file", 1) }),
		outside("truncate to grow", "E20", func(p place) error { return unix.Truncate(p.out+"/file", 1<<20) }),
		outside("ftruncate", "E20", func(p place) error {
			return withFD(p.out+"/file", unix.O_WRONLY, func(fd int) error { return unix.Ftruncate(fd, 0) })
		}),
		outside("pwrite", "E18", func(p place) error {
			return withFD(p.out+"/file", unix.O_RDWR, func(fd int) error { _, err := unix.Pwrite(fd, []byte("x"), 1); return err })
		}),
		outside("fallocate", "E18", func(p place) error {
			return withFD(p.out+"/file", unix.O_WRONLY, func(fd int) error { return unix.Fallocate(fd, 0, 0, 8192) })
		}),
		outside("shared map", "E18", mapShared),
		outside("copy_file_range", "E18", func(p place) error {
			return between(p, func(from, to int) error { _, err := unix.CopyFileRange(from, nil, to, nil, 4, 0); return err })
		}),
		outside("sendfile", "E18", func(p place) error {
			return between(p, func(from, to int) error { _, err := unix.Sendfile(to, from, nil, 4); return err })
		}),
		outside("splice", "E18", splice),
		outside("mkdir", "E18", func(p place) error { return unix.Mkdir(p.out+"/made", 0o755) }),
		outside("rmdir", "E18", func(p place) error { return unix.Rmdir(p.out + "/empty") }),
		outside("unlink", "E18", func(p place) error { return unix.Unlink(p.out + "/file") }),
		outside("mkfifo", "E18", func(p place) error { return unix.Mkfifo(p.out+"/fifo", 0o644) }),
		outside("mknod: a regular file", "E18", func(p place) error { return unix.Mknod(p.out+"/node", unix.S_IFREG|0o644, 0) }),
		outside("mknod: a socket", "E18", func(p place) error { return unix.Mknod(p.out+"/node", unix.S_IFSOCK|0o644, 0) }),
		outside("mknod: a white-out device", "E18", func(p place) error { return unix.Mknod(p.out+"/node", unix.S_IFCHR|0o644, 0) }),
		outside("symlink", "E1", func(p place) error { return unix.Symlink("/etc/passwd", p.out+"/symlink") }),
		outside("link out", "E19", func(p place) error { return unix.Link(p.out+"/file", p.in+"/h2") }),
		outside("link in", "E19", func(p place) error { return unix.Link(p.in+"/mine", p.out+"/h2") }),
		outside("link through a descriptor", "E19", func(p place) error {
			return withFD(p.out+"/file", unix.O_PATH, func(fd int) error {
				return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, p.in+"/h3", unix.AT_SYMLINK_FOLLOW)
			})
		}),
		outside("rename within", "E18", func(p place) error { return unix.Rename(p.out+"/file", p.out+"/renamed") }),
		outside("rename out of it", "E18", func(p place) error { return unix.Rename(p.out+"/file", p.in+"/taken") }),
		outside("rename into it", "E18", func(p place) error { return unix.Rename(p.in+"/mine", p.out+"/given") }),
		outside("rename over a file of it", "E18", func(p place) error { return unix.Rename(p.in+"/mine", p.out+"/file") }),
		outside("rename a folder of it", "E18", func(p place) error { return unix.Rename(p.out+"/dir", p.out+"/moved") }),
		outside("rename a folder out of it", "E18", func(p place) error { return unix.Rename(p.out+"/dir", p.in+"/moved") }),
		outside("exchange two files", "E18", func(p place) error {
			return unix.Renameat2(unix.AT_FDCWD, p.in+"/mine", unix.AT_FDCWD, p.out+"/file", unix.RENAME_EXCHANGE)
		}),
		outside("exchange two folders", "E18", func(p place) error {
			return unix.Renameat2(unix.AT_FDCWD, p.in+"/sub", unix.AT_FDCWD, p.out+"/dir", unix.RENAME_EXCHANGE)
		}),
		outside("rename without replacing", "E18", func(p place) error {
			return unix.Renameat2(unix.AT_FDCWD, p.in+"/mine", unix.AT_FDCWD, p.out+"/given", unix.RENAME_NOREPLACE)
		}),
		outside("unnamed file, then a name", "E18", func(p place) error { return unnamed(p.out, p.out+"/named") }),
		outside("unnamed file of the workspace, named outside", "E18", func(p place) error { return unnamed(p.in, p.out+"/named") }),
		outside("write into a named pipe", "E18", nil).withFIFO(),
		outside("a program from memory", "E23", fromMemory),
		outside("a program copied into the workspace", "E23", func(p place) error { return copied(p, p.in+"/sh") }),
	}
}

// withFIFO changes a row to write into a pipe that the host reads.
func (a attempt) withFIFO() attempt {
	a.word, a.weakness = true, "pipes"
	a.before = func(h *host, p place) {
		if err := unix.Mkfifo(p.out+"/pipe", 0o666); err != nil {
			h.t.Fatal(err)
		}
		f, err := os.OpenFile(p.out+"/pipe", os.O_RDWR, 0)
		if err != nil {
			h.t.Fatal(err)
		}
		h.t.Cleanup(func() { f.Close() })
	}
	a.do = func(p place) error { return writeTo(p.out+"/pipe", unix.O_WRONLY|unix.O_NONBLOCK) }
	return a
}

func mapShared(p place) error {
	return withFD(p.out+"/file", unix.O_RDWR, func(fd int) error {
		m, err := unix.Mmap(fd, 0, 4, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			return err
		}
		m[0] = 'X'
		return errors.Join(unix.Msync(m, unix.MS_SYNC), unix.Munmap(m))
	})
}

// between opens a file in the workspace for reading and one outside for writing.
func between(p place, f func(from, to int) error) error {
	return withFD(p.in+"/mine", unix.O_RDONLY, func(from int) error {
		return withFD(p.out+"/new", create, func(to int) error { return f(from, to) })
	})
}

func splice(p place) error {
	return between(p, func(from, to int) error {
		var pipe [2]int
		if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
			return err
		}
		defer unix.Close(pipe[0])
		defer unix.Close(pipe[1])
		if _, err := unix.Splice(from, nil, pipe[1], nil, 4, 0); err != nil {
			return err
		}
		_, err := unix.Splice(pipe[0], nil, to, nil, 4, 0)
		return err
	})
}

// unnamed creates a file without a name in dir and gives it one.
func unnamed(dir, name string) error {
	return withFD(dir, unix.O_TMPFILE|unix.O_WRONLY, func(fd int) error {
		return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
	})
}

// fromMemory executes a shell from a sealed file in memory.
func fromMemory(p place) error {
	fd, err := unix.MemfdCreate("sh", 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	data, err := os.ReadFile("/bin/sh")
	if err != nil {
		return err
	}
	if _, err := unix.Write(fd, data); err != nil {
		return err
	}
	return shellWrites("/proc/self/fd/"+strconv.Itoa(fd), p)
}

func copied(p place, to string) error {
	data, err := os.ReadFile("/bin/sh")
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, data, 0o755); err != nil {
		return err
	}
	return shellWrites(to, p)
}

// shellWrites makes the shell at path write outside.
func shellWrites(path string, p place) error {
	return (&exec.Cmd{Path: path, Args: []string{"sh", "-c", `echo changed > "$0"`, p.out + "/file"}}).Run()
}
