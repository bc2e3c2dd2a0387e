//go:build linux

#include "textflag.h"

// func entry()
TEXT ·entry(SB),NOSPLIT|NOFRAME,$0-0
	MOVD $25, R8 // fcntl
	MOVD $1, R0
	MOVD $1, R1  // F_GETFD
	SVC
	MOVD R0, ·stdoutAtStart(SB)
	MOVD $261, R8 // prlimit64
	MOVD $0, R0
	MOVD $7, R1   // RLIMIT_NOFILE
	MOVD $0, R2
	MOVD $·filesAtStart(SB), R3
	SVC
	JMP  _rt0_arm64_linux(SB)
