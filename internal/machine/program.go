package machine

import (
	"os"
	"syscall"
)

// WriteProgram writes a file that the test executes. A file that is open for writing cannot be
// executed (ETXTBSY). The child of another test would hold the open file from its fork to its execve,
// so the lock allows no fork during the write.
func WriteProgram(path string, data []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, data, 0o755)
}
