#include "textflag.h"

GLOBL ·callerAddr(SB), NOPTR|RODATA, $8
DATA ·callerAddr(SB)/8, $caller(SB)
GLOBL ·spinnerAddr(SB), NOPTR|RODATA, $8
DATA ·spinnerAddr(SB)/8, $spinner(SB)
GLOBL ·watcherAddr(SB), NOPTR|RODATA, $8
DATA ·watcherAddr(SB)/8, $watch(SB)

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

// spinner has C's calling convention: its argument, a *spin, is in DI.
TEXT spinner(SB), NOSPLIT, $16
	MOVQ DI, 8(SP)
again:
	MOVQ 8(SP), R11
	MOVQ 8(R11), DI
	MOVQ 16(R11), SI
	MOVQ 24(R11), DX
	MOVQ 0(R11), R10
	XORL AX, AX
	CALL R10
	MOVQ 8(SP), R11
	TESTL AX, AX
	JNE  done
	MOVQ 40(R11), R10
	MOVL (R10), R10
	TESTL R10, R10
	JNE  done
	SUBQ $1, 48(R11)
	JNE  again
done:
	MOVQ AX, 32(R11)
	XORL AX, AX
	RET

// watch has C's calling convention: its argument, a *watcher, is in DI.
TEXT watch(SB), NOSPLIT, $0
	MOVQ 0(DI), R8
	MOVQ 8(DI), CX
	MOVQ 16(DI), DX
	MOVQ 32(DI), R9
	MOVQ 40(DI), R10
look:
	MOVL (R8), AX
	SHRL CX, AX
	CMPB AX, DX
	JEQ  seen
	MOVL (R9), R11
	TESTL R11, R11
	JNE  out
	PAUSE
	SUBQ $1, R10
	JNE  look
	JMP  out
seen:
	MOVQ $1, 24(DI)
out:
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
