//go:build linux

#include "textflag.h"

// func entry()
TEXT ·entry(SB),NOSPLIT|NOFRAME,$0-0
	MOVQ $72, AX // fcntl
	MOVQ $1, DI
	MOVQ $1, SI  // F_GETFD
	SYSCALL
	MOVQ AX, ·stdoutAtStart(SB)
	JMP  _rt0_amd64_linux(SB)
