#include "textflag.h"

GLOBL ·callerAddr(SB), NOPTR|RODATA, $8
DATA ·callerAddr(SB)/8, $caller(SB)

// caller has C's calling convention: its argument, a *call, is in R0.
TEXT caller(SB), NOSPLIT, $16
	MOVD R0, 8(RSP)
	MOVD R0, R9
	MOVD 8(R9), R0
	MOVD 16(R9), R1
	MOVD 24(R9), R2
	MOVD 0(R9), R10
	BL   (R10)
	MOVD 8(RSP), R9
	MOVD R0, 32(R9)
	MOVD $0, R0
	RET

// func quick(fn uintptr, arg unsafe.Pointer)
TEXT ·quick(SB), NOSPLIT, $32-16
	MOVD fn+0(FP), R0
	MOVD R0, 8(RSP)
	MOVD arg+8(FP), R0
	MOVD R0, 16(RSP)
	BL   runtime·asmcgocall(SB)
	RET
