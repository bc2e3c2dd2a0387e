//go:build linux

package broker

import (
	"strings"

	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// Shared memory and named semaphores are files of /dev/shm (shm_overview(7),
// sem_overview(7)). With mounts a command has a /dev/shm of its own. Without them
// it shares the machine's, where other programs trust what lies under the names
// that they know. So the broker looks for such a name in a folder of the session:
//
//	command: open("/dev/shm/sem.x", O_RDWR|O_CREAT) ─▶ broker: Temp/.shm/sem.x
//
// The new name is judged like any other. A name that the machine's /dev/shm has
// stays what it is, so that a refusal says what was refused. An open for reading
// alone is not asked about and finds nothing.

// memoryFolder is the folder in the session's own folder for temporary files.
const memoryFolder = ".shm"

// inMemory is the path that stands for path.
func (j *judge) inMemory(path string) string {
	rest, below := strings.CutPrefix(path, kernel.ShmDir+"/")
	first, _, _ := strings.Cut(rest, "/")
	switch {
	case !below || j.walk.Mounts != nil || j.policy.Temp == "",
		first == "" || first == "." || first == "..",
		j.policy.JudgeWrite(path).Allowed:
		return path
	}
	own := j.policy.Temp + "/" + memoryFolder
	if !exists(own+"/"+first) && exists(kernel.ShmDir+"/"+first) {
		return path
	}
	// If it is not there: the call fails if it cannot be made. A command of another
	// session that may write the folder above may put a link in Temp's place.
	if temp, err := kernel.OpenPath(j.policy.Temp); err == nil {
		_ = unix.Mkdirat(temp, memoryFolder, 0o700)
		unix.Close(temp)
	}
	return own + "/" + rest
}

// exists reports whether an entry is there, a link that leads nowhere too.
func exists(path string) bool {
	var st unix.Stat_t
	return unix.Lstat(path, &st) == nil
}
