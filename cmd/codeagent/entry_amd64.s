//go:build linux

#include "textflag.h"

// func entry()
TEXT ·entry(SB),NOSPLIT|NOFRAME,$0-0
	MOVQ $72, AX // fcntl
	MOVQ $1, DI
	MOVQ $1, SI  // F_GETFD
	SYSCALL
	MOVQ AX, ·stdoutAtStart(SB)
	MOVQ $302, AX // prlimit64
	MOVQ $0, DI
	MOVQ $7, SI   // RLIMIT_NOFILE
	MOVQ $0, DX
	LEAQ ·filesAtStart(SB), R10
	SYSCALL
	JMP  _rt0_amd64_linux(SB)
