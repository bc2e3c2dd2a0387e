#include "textflag.h"

// func int80(number, a, b, c uint32) int32
// This is the kernel's 32-bit entry point, which a 64-bit program may use too.
// The kernel preserves the registers that a call must preserve, except R8 to R11.
TEXT ·int80(SB), NOSPLIT, $0-20
	MOVL number+0(FP), AX
	MOVL a+4(FP), BX
	MOVL b+8(FP), CX
	MOVL c+12(FP), DX
	INT $0x80
	MOVL AX, ret+16(FP)
	RET
