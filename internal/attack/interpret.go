// Package attack is test support: it runs seccomp programs in an interpreter, and it makes the
// system calls that a sandbox must refuse, without wrappers that would keep them from the kernel.
// Only tests and internal/compat import it. Start with Attack (attack.go), then Interpret (interpret.go).
package attack

import (
	"fmt"

	"golang.org/x/net/bpf"
)

// Call is what a seccomp program sees of a system call (struct seccomp_data).
type Call struct {
	Number uint32
	Arch   uint32
	IP     uint64
	Args   [6]uint64
}

// word is the 32-bit load at offset; the kernel refuses programs with any other load.
func (c Call) word(offset uint32) (uint32, bool) {
	if offset%4 != 0 || offset >= 64 {
		return 0, false
	}
	halves := [16]uint32{c.Number, c.Arch, uint32(c.IP), uint32(c.IP >> 32)}
	for i, a := range c.Args {
		halves[4+2*i], halves[5+2*i] = uint32(a), uint32(a>>32)
	}
	return halves[offset/4], true
}

// Interpret runs prog on one call as the kernel would. It returns the verdict and the number of
// instructions executed. It supports only what the kernel accepts in a seccomp program; anything
// else is an error, and so is running off the end. golang.org/x/net/bpf also has an interpreter,
// but that one reads packets, which are big-endian.
func Interpret(prog []bpf.RawInstruction, c Call) (verdict uint32, steps int, err error) {
	var a uint32
	for pc := 0; pc < len(prog); pc++ {
		steps++
		switch ins := prog[pc]; ins.Op {
		case opLoadWord:
			v, ok := c.word(ins.K)
			if !ok {
				return 0, steps, fmt.Errorf("instruction %d loads from %d", pc, ins.K)
			}
			a = v
		case opAnd:
			a &= ins.K
		case opJump:
			if uint64(pc)+uint64(ins.K) >= uint64(len(prog)) {
				return 0, steps, fmt.Errorf("instruction %d jumps out of the program", pc)
			}
			pc += int(ins.K)
		case opJumpEqual, opJumpGreater, opJumpGreaterEqual, opJumpSet:
			if taken(ins.Op, a, ins.K) {
				pc += int(ins.Jt)
			} else {
				pc += int(ins.Jf)
			}
		case opReturn:
			return ins.K, steps, nil
		default:
			return 0, steps, fmt.Errorf("instruction %d has code %#x", pc, ins.Op)
		}
	}
	return 0, steps, fmt.Errorf("the program ends without a verdict")
}

// These are codes of linux/bpf_common.h, combined.
const (
	opLoadWord         = 0x20 // BPF_LD | BPF_W | BPF_ABS
	opAnd              = 0x54 // BPF_ALU | BPF_AND | BPF_K
	opJump             = 0x05 // BPF_JMP | BPF_JA
	opJumpEqual        = 0x15 // BPF_JMP | BPF_JEQ | BPF_K
	opJumpGreater      = 0x25
	opJumpGreaterEqual = 0x35
	opJumpSet          = 0x45
	opReturn           = 0x06 // BPF_RET | BPF_K
)

func taken(op uint16, a, k uint32) bool {
	switch op {
	case opJumpEqual:
		return a == k
	case opJumpGreater:
		return a > k
	case opJumpGreaterEqual:
		return a >= k
	}
	return a&k != 0
}

// Constant returns the verdict of a call if its number and architecture alone decide it, by the
// rules of the kernel's bitmap (seccomp_is_const_allow): any other load means that they do not.
func Constant(prog []bpf.RawInstruction, c Call) (verdict uint32, ok bool) {
	verdict, _, err := Interpret(withoutArguments(prog), c)
	return verdict, err == nil
}

// withoutArguments makes every load of an argument an error.
func withoutArguments(prog []bpf.RawInstruction) []bpf.RawInstruction {
	out := make([]bpf.RawInstruction, len(prog))
	for i, ins := range prog {
		if ins.Op == opLoadWord && ins.K >= 8 {
			ins.K = 64
		}
		out[i] = ins
	}
	return out
}
