package module

import "golang.org/x/sys/unix"

// reference opens a folder that may be searched and not read.
const reference = unix.O_PATH

// isProc reports whether dir is of a proc file system, which shows and changes processes: also that of the module.
func isProc(dir int) bool {
	var fs unix.Statfs_t
	return unix.Fstatfs(dir, &fs) != nil || fs.Type == unix.PROC_SUPER_MAGIC
}
