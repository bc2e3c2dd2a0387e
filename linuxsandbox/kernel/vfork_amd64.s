//go:build linux

#include "textflag.h"

// func vfork(trap, flags, stack, id uintptr) (r1, errno uintptr)
//
// The child runs on the parent's stack and overwrites what is below this
// frame, including the return address. A register keeps that address meanwhile.
TEXT ·vfork(SB),NOSPLIT|NOFRAME,$0-48
	MOVQ	flags+8(FP), DI
	MOVQ	stack+16(FP), SI
	MOVQ	id+24(FP), DX
	MOVQ	$0, R10
	MOVQ	$0, R8
	MOVQ	$0, R9
	MOVQ	trap+0(FP), AX
	POPQ	R12
	SYSCALL
	PUSHQ	R12
	CMPQ	AX, $0xfffffffffffff001
	JLS	ok
	MOVQ	$-1, r1+32(FP)
	NEGQ	AX
	MOVQ	AX, errno+40(FP)
	RET
ok:
	MOVQ	AX, r1+32(FP)
	MOVQ	$0, errno+40(FP)
	RET
