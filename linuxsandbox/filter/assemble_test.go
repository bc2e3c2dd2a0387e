//go:build linux

package filter

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// This is the assembler of the filter. It runs only where the programs are generated, never in the
// product, so it can take the numbers from the library. go-seccomp-bpf fills its maps in an init,
// which would cost every command a quarter of a millisecond.
//
//	table + the library's numbers -> spans of numbers -> decision tree
//	  -> instructions -> programs.go
//
// If the number alone decides, the program loads no argument: only then can the kernel store the
// answer in its bitmap and skip the program.

// arches are the architectures that the filter supports.
var arches = []architecture{
	{goarch: "amd64", audit: unix.AUDIT_ARCH_X86_64, foreign: [2]uint32{x32Bit, 2*x32Bit - 1}},
	{goarch: "arm64", audit: unix.AUDIT_ARCH_AARCH64},
}

type architecture struct {
	goarch string
	audit  uint32
	// foreign are the numbers, first to last, of another calling convention under the same audit
	// number: in effect another architecture.
	foreign [2]uint32
}

// x32Bit is __X32_SYSCALL_BIT (asm/unistd.h). Every x32 number has it set, and the sign bit clear.
const x32Bit = 0x40000000

// span is a run of system call numbers with the same decision. It ends before the next span's
// first.
type span struct {
	first uint32
	// rules apply to the call, each where its scope covers the options. do decides if no rule does.
	rules []*rule
	do    action
}

// assemble generates the program of one architecture, for link.
func assemble(table []rule, goarch string) ([]bpf.RawInstruction, error) {
	i := slices.IndexFunc(arches, func(a architecture) bool { return a.goarch == goarch })
	if i < 0 {
		return nil, fmt.Errorf("no system call table for %q", goarch)
	}
	spans, err := spansOf(table, arches[i])
	if err != nil {
		return nil, err
	}
	var p program
	native := p.label()
	p.load(seccompArch)
	p.jump(bpf.JumpEqual, arches[i].audit, native, p.next())
	p.ret(kill)
	p.place(native)
	p.load(seccompNumber)
	p.tree(spans)
	return p.assemble()
}

// spansOf maps the rules and the holes to the numbers of one architecture, in order. The first span
// starts at 0.
func spansOf(table []rule, a architecture) ([]span, error) {
	numbers, err := arch.GetInfo(a.goarch)
	if err != nil {
		return nil, err
	}
	byNumber := map[uint32][]*rule{}
	for i := range table {
		for _, name := range table[i].calls {
			n, here := numbers.SyscallNames[name]
			switch {
			case here:
				byNumber[uint32(n)] = append(byNumber[uint32(n)], &table[i])
			case !here && !onSomeArch(name):
				return nil, fmt.Errorf("no architecture has the system call %q", name)
			}
		}
	}
	holes := libraryHoles(numbers)
	starts := []span{{do: allow}}
	for _, hole := range holes {
		starts = append(starts, span{first: hole[0], do: enosys})
		if hole[1] < math.MaxUint32 {
			starts = append(starts, span{first: hole[1] + 1, do: allow})
		}
	}
	if a.foreign[1] != 0 {
		starts = append(starts, span{first: a.foreign[0], do: kill}, span{first: a.foreign[1] + 1, do: enosys})
	}
	for n, rules := range byNumber {
		starts = append(starts, decided(n, rules))
		if _, ruled := byNumber[n+1]; !ruled && !within(holes, n+1) {
			starts = append(starts, span{first: n + 1, do: allow})
		}
	}
	return mergeSpans(starts), nil
}

// onSomeArch reports whether any architecture has the call; not all have iopl, for example.
func onSomeArch(name string) bool {
	return slices.ContainsFunc(arches, func(a architecture) bool {
		numbers, err := arch.GetInfo(a.goarch)
		if err != nil {
			return false
		}
		_, ok := numbers.SyscallNames[name]
		return ok
	})
}

// libraryHoles are the runs of unused numbers, each from first to last. Calls that later kernels
// add there are refused.
func libraryHoles(numbers *arch.Info) [][2]uint32 {
	var holes [][2]uint32
	next := 0
	for _, n := range slices.Sorted(maps.Keys(numbers.SyscallNumbers)) {
		if n > next {
			holes = append(holes, [2]uint32{uint32(next), uint32(n - 1)})
		}
		next = n + 1
	}
	return append(holes, [2]uint32{uint32(next), math.MaxUint32})
}

func within(holes [][2]uint32, n uint32) bool {
	return slices.ContainsFunc(holes, func(hole [2]uint32) bool { return n >= hole[0] && n <= hole[1] })
}

// decided is the span of one call. It drops the rules if the first of them always holds.
func decided(n uint32, rules []*rule) span {
	if len(rules[0].when) == 0 && rules[0].only == 0 {
		return span{first: n, do: rules[0].do}
	}
	return span{first: n, rules: rules, do: allow}
}

// mergeSpans sorts spans and drops one that equals its predecessor. If two start at the same number
// the later argument wins: a rule replaces the "allow" that ends its neighbour.
func mergeSpans(starts []span) []span {
	slices.SortStableFunc(starts, func(a, b span) int { return int(int64(a.first) - int64(b.first)) })
	var out []span
	for _, s := range starts {
		if n := len(out); n > 0 && out[n-1].first == s.first {
			out = out[:n-1]
		}
		if n := len(out); n > 0 && slices.Equal(s.rules, out[n-1].rules) && out[n-1].do == s.do {
			continue
		}
		out = append(out, s)
	}
	return out
}

// These are offsets in struct seccomp_data (linux/seccomp.h). Both architectures are little-endian,
// so the low half of an argument comes first.
const (
	seccompNumber = 0
	seccompArch   = 4
	seccompArgs   = 16
)

// maxProgram is BPF_MAXINSNS.
const maxProgram = 4096

// program is a filter under construction: instructions whose jumps refer to labels.
type program struct {
	code []instruction
	// at is the index in code of each label; -1: not placed yet.
	at []int
}

// label is a position in a program that may not be written yet.
type label int

// instruction is a plain one, a conditional jump, or the jump of a scope past a rule.
type instruction struct {
	plain    bpf.Instruction
	only     scope // with no
	cond     bpf.JumpTest
	value    uint32
	yes, no  label
	isJump   bool
	longJump bool
}

func (p *program) label() label {
	p.at = append(p.at, -1)
	return label(len(p.at) - 1)
}

func (p *program) place(l label) { p.at[l] = len(p.code) }

// next returns a label for the instruction after the jump that follows.
func (p *program) next() label {
	p.at = append(p.at, len(p.code)+1)
	return label(len(p.at) - 1)
}

func (p *program) emit(i bpf.Instruction) { p.code = append(p.code, instruction{plain: i}) }
func (p *program) load(offset uint32)     { p.emit(bpf.LoadAbsolute{Off: offset, Size: 4}) }
func (p *program) ret(a action)           { p.emit(bpf.RetConstant{Val: uint32(a)}) }

func (p *program) jump(cond bpf.JumpTest, value uint32, yes, no label) {
	p.code = append(p.code, instruction{isJump: true, cond: cond, value: value, yes: yes, no: no})
}

// tree writes a binary search over the spans; the number is in register A.
func (p *program) tree(spans []span) {
	if len(spans) == 1 {
		p.leaf(spans[0])
		return
	}
	half := len(spans) / 2
	upper := p.label()
	p.jump(bpf.JumpGreaterOrEqual, spans[half].first, upper, p.next())
	p.tree(spans[:half])
	p.place(upper)
	p.tree(spans[half:])
}

// leaf writes the decision for the calls of one span: its rules in order, and then the default.
func (p *program) leaf(s span) {
	for _, r := range s.rules {
		other := p.label()
		if r.only != 0 {
			p.code = append(p.code, instruction{only: r.only, no: other})
		}
		for _, t := range r.when {
			p.test(t, other)
		}
		p.ret(r.do)
		if len(r.when) == 0 && r.only == 0 {
			return
		}
		p.place(other)
	}
	p.ret(s.do)
}

// test writes a check of one argument. It falls through if the test holds, else it jumps to other.
func (p *program) test(t test, other label) {
	holds := p.label()
	in, out := holds, other
	if t.not {
		in, out = other, holds
	}
	low := uint32(seccompArgs + 8*t.arg)
	if t.wide {
		p.load(low + 4)
		p.jump(bpf.JumpEqual, 0, p.next(), out)
	}
	p.load(low)
	if t.mask != 0 {
		p.emit(bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: t.mask})
	}
	for i, v := range t.in {
		no := out
		if i+1 < len(t.in) {
			no = p.next()
		}
		p.jump(bpf.JumpEqual, v, in, no)
	}
	p.place(holds)
}

// assemble computes the distance of every jump. A conditional jump reaches 255 instructions. One
// that must reach further becomes a jump over two unconditional ones, which have 32 bits for the
// distance.
func (p *program) assemble() ([]bpf.RawInstruction, error) {
	for {
		where := p.layout()
		grown := false
		for i := range p.code {
			ins := &p.code[i]
			if !ins.isJump || ins.longJump {
				continue
			}
			yes, no, err := p.distances(i, where)
			if err != nil {
				return nil, err
			}
			if yes > 255 || no > 255 {
				ins.longJump, grown = true, true
			}
		}
		if !grown {
			return p.write(where)
		}
	}
}

// layout returns the final index of each instruction, and at the end the length.
func (p *program) layout() []int {
	where := make([]int, 0, len(p.code)+1)
	n := 0
	for i := range p.code {
		where = append(where, n)
		n++
		if p.code[i].longJump {
			n += 2
		}
	}
	return append(where, n)
}

// distance is the number of instructions that a jump from i to l skips, or -1.
func (p *program) distance(i int, l label, where []int) int {
	if to := p.at[l]; to > i && to < len(p.code) {
		return where[to] - where[i] - 1
	}
	return -1
}

// distances are the two distances of the conditional jump at i.
func (p *program) distances(i int, where []int) (yes, no int, err error) {
	yes, no = p.distance(i, p.code[i].yes, where), p.distance(i, p.code[i].no, where)
	if yes < 0 || no < 0 {
		return 0, 0, fmt.Errorf("bug: jump at instruction %d goes nowhere", i)
	}
	return yes, no, nil
}

func (p *program) write(where []int) ([]bpf.RawInstruction, error) {
	if n := where[len(p.code)]; n > maxProgram {
		return nil, fmt.Errorf("filter has %d instructions, the kernel takes %d", n, maxProgram)
	}
	var out []bpf.Instruction
	for i, ins := range p.code {
		if ins.only != 0 {
			past := p.distance(i, ins.no, where)
			if past < 0 {
				return nil, fmt.Errorf("bug: the scope at instruction %d ends nowhere", i)
			}
			out = append(out, bpf.RawInstruction{Op: jumpAlways, Jt: uint8(ins.only), Jf: uint8(ins.only >> 8), K: uint32(past)})
			continue
		}
		if !ins.isJump {
			out = append(out, ins.plain)
			continue
		}
		yes, no, err := p.distances(i, where)
		switch {
		case err != nil:
			return nil, err
		case ins.longJump:
			out = append(out,
				bpf.JumpIf{Cond: ins.cond, Val: ins.value, SkipTrue: 0, SkipFalse: 1},
				bpf.Jump{Skip: uint32(yes - 1)},
				bpf.Jump{Skip: uint32(no - 2)})
		case yes > 255 || no > 255:
			return nil, fmt.Errorf("bug: jump at instruction %d does not reach", i)
		default:
			out = append(out, bpf.JumpIf{Cond: ins.cond, Val: ins.value, SkipTrue: uint8(yes), SkipFalse: uint8(no)})
		}
	}
	return bpf.Assemble(out)
}
