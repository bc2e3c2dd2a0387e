//go:build linux

package judge

import (
	"strings"

	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// Shared memory and named semaphores are files of /dev/shm (shm_overview(7), sem_overview(7)).
// With mounts a command has its own /dev/shm. Without them it shares the machine's, where
// other programs trust the files under names that they know. So the broker redirects such a
// name to a folder of the session:
//
//	command: open("/dev/shm/sem.x", O_RDWR|O_CREAT) ─▶ broker: Temp/.shm/sem.x
//
// The new path is judged like any other. A name that exists in the machine's /dev/shm is not
// redirected, so that the denial shows it. An open that only reads is not redirected,
// and does not find the file.

// memoryFolder is the name of that folder in the session's folder for temporary files.
const memoryFolder = ".shm"

// inMemory returns the path to use in place of path.
func (j *Judge) InMemory(path string) string {
	rest, below := strings.CutPrefix(path, kernel.ShmDir+"/")
	first, _, _ := strings.Cut(rest, "/")
	switch {
	case !below || j.walk.Mounts != nil || j.policy.Temp == "",
		first == "" || first == "." || first == "..",
		j.policy.JudgeWrite(path).Allowed:
		return path
	}
	own := j.policy.Temp + "/" + memoryFolder
	if !Exists(own+"/"+first) && Exists(kernel.ShmDir+"/"+first) {
		return path
	}
	// Make the folder if it is missing. If that fails, the call will fail too. OpenPath follows
	// no link: a command of another session that may write the folder above Temp could have
	// put a link in its place.
	if temp, err := kernel.OpenPath(j.policy.Temp); err == nil {
		_ = unix.Mkdirat(temp, memoryFolder, 0o700)
		unix.Close(temp)
	}
	return own + "/" + rest
}

// Exists reports whether an entry exists, even a link that leads nowhere.
func Exists(path string) bool {
	var st unix.Stat_t
	return unix.Lstat(path, &st) == nil
}
