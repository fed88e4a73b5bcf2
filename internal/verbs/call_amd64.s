#include "textflag.h"

GLOBL ·callerAddr(SB), NOPTR|RODATA, $8
DATA ·callerAddr(SB)/8, $caller(SB)

// caller has C's calling convention: its argument, a *call, is in DI.
TEXT caller(SB), NOSPLIT, $16
	MOVQ DI, 8(SP)
	MOVQ DI, R11
	MOVQ 8(R11), DI
	MOVQ 16(R11), SI
	MOVQ 24(R11), DX
	MOVQ 0(R11), R10
	XORL AX, AX
	CALL R10
	MOVQ 8(SP), DI
	MOVQ AX, 32(DI)
	XORL AX, AX
	RET

// func quick(fn uintptr, arg unsafe.Pointer)
TEXT ·quick(SB), NOSPLIT, $24-16
	MOVQ fn+0(FP), AX
	MOVQ AX, 0(SP)
	MOVQ arg+8(FP), AX
	MOVQ AX, 8(SP)
	CALL runtime·asmcgocall(SB)
	RET
