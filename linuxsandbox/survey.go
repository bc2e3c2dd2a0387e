//go:build linux

package linuxsandbox

import (
	"fmt"
	"unsafe"

	"codeagent/linuxsandbox/keeper"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// Survey reports whether this kernel has the layers without which no command runs. It only asks the
// kernel, for machines on which a keeper cannot start and so cannot prove anything.
func Survey() []sandbox.Layer {
	landlock := sandbox.Layer{Name: "landlock", State: sandbox.LayerActive}
	switch abi := keeper.LandlockABI(); {
	case abi <= 0:
		landlock.State, landlock.Reason = sandbox.LayerAbsent, "the kernel has none, it was not switched on (lsm=landlock), or a container refuses its calls"
	case abi < spec.MinLandlockABI:
		landlock.State, landlock.Reason = sandbox.LayerAbsent, fmt.Sprintf("ABI %d, and codeagent needs %d (Linux 6.2)", abi, spec.MinLandlockABI)
	default:
		landlock.Reason = fmt.Sprintf("ABI %d; not tried", abi)
	}
	return []sandbox.Layer{landlock, knows("seccomp", unix.SECCOMP_RET_ERRNO), knows("notify", unix.SECCOMP_RET_USER_NOTIF)}
}

// knows asks the kernel whether seccomp filters can use action. A filter around codeagent can
// refuse the question.
func knows(layer string, action uint32) sandbox.Layer {
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	if errno == 0 {
		return sandbox.Layer{Name: layer, State: sandbox.LayerActive, Reason: "the kernel has it; not tried"}
	}
	return sandbox.Layer{Name: layer, State: sandbox.LayerAbsent, Reason: "seccomp(2): " + errno.Error()}
}
