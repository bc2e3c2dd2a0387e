package machine

import (
	"os"
	"syscall"
)

// WriteProgram writes a file that the test executes. A file that is open for writing cannot be
// executed (ETXTBSY), so no process that another test starts meanwhile may hold it.
func WriteProgram(path string, data []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, data, 0o755)
}
