#include "textflag.h"

GLOBL ·callerAddr(SB), NOPTR|RODATA, $8
DATA ·callerAddr(SB)/8, $caller(SB)
GLOBL ·spinnerAddr(SB), NOPTR|RODATA, $8
DATA ·spinnerAddr(SB)/8, $spinner(SB)
GLOBL ·watcherAddr(SB), NOPTR|RODATA, $8
DATA ·watcherAddr(SB)/8, $watch(SB)

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

// spinner has C's calling convention: its argument, a *spin, is in R0.
TEXT spinner(SB), NOSPLIT, $16
	MOVD R0, 8(RSP)
again:
	MOVD 8(RSP), R9
	MOVD 8(R9), R0
	MOVD 16(R9), R1
	MOVD 24(R9), R2
	MOVD 0(R9), R10
	BL   (R10)
	MOVD 8(RSP), R9
	CBNZW R0, done
	MOVD 40(R9), R10
	MOVWU (R10), R10
	CBNZW R10, done
	MOVD 48(R9), R10
	SUB  $1, R10
	MOVD R10, 48(R9)
	CBNZ R10, again
done:
	MOVD R0, 32(R9)
	MOVD $0, R0
	RET

// watch has C's calling convention: its argument, a *watcher, is in R0. The load is an
// acquiring one, so that what is read after it was written before.
TEXT watch(SB), NOSPLIT, $0
	MOVD 0(R0), R1
	MOVD 8(R0), R2
	MOVD 16(R0), R3
	MOVD 32(R0), R4
	MOVD 40(R0), R5
look:
	LDARW (R1), R6
	LSR  R2, R6, R6
	AND  $255, R6
	CMP  R3, R6
	BEQ  seen
	MOVWU (R4), R7
	CBNZW R7, out
	YIELD
	SUB  $1, R5
	CBNZ R5, look
	B    out
seen:
	MOVD $1, R6
	MOVD R6, 24(R0)
out:
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
