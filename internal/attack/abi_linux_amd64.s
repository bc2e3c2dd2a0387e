#include "textflag.h"

// func int80(number, a, b, c uint32) int32
// The 32-bit entry of the kernel, which a 64-bit program may use too. The
// kernel keeps what a call must keep, except R8 to R11.
TEXT ·int80(SB), NOSPLIT, $0-20
	MOVL number+0(FP), AX
	MOVL a+4(FP), BX
	MOVL b+8(FP), CX
	MOVL c+12(FP), DX
	INT $0x80
	MOVL AX, ret+16(FP)
	RET
