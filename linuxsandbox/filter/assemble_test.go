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

// The assembler of the filter. It runs where the programs are generated, never in
// the product, so it can take the numbers from the library. go-seccomp-bpf fills its
// maps in an init, which would cost every command a quarter of a millisecond.
//
//	table + the library's numbers -> spans of numbers -> decision tree
//	  -> instructions -> programs.go
//
// Where the number alone decides, the program looks at no argument: only then can
// the kernel keep the answer in its bitmap and skip the program.

// arches are the architectures the filter knows.
var arches = []architecture{
	{goarch: "amd64", audit: unix.AUDIT_ARCH_X86_64, foreign: [2]uint32{x32Bit, 2*x32Bit - 1}},
	{goarch: "arm64", audit: unix.AUDIT_ARCH_AARCH64},
}

type architecture struct {
	goarch string
	audit  uint32
	// foreign are the numbers, first to last, of another calling convention
	// under the same audit number: another architecture in all but name.
	foreign [2]uint32
}

// x32Bit is __X32_SYSCALL_BIT (asm/unistd.h). Every x32 number has it, and
// not the sign bit.
const x32Bit = 0x40000000

// span is a run of system call numbers that are all decided alike, up to the
// next span's first.
type span struct {
	first uint32
	// rules name the call, each where its scope covers the options; do decides where
	// no rule does.
	rules []*rule
	do    action
}

// assemble makes the program of one architecture, for link.
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

// spansOf lays the rules and the holes out over the numbers of one
// architecture, ordered, the first span starting at 0.
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

// onSomeArch says whether any architecture has the call; iopl is one that not
// all have.
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

// libraryHoles are the runs of numbers that are no call, from the first to the
// last of each. What later kernels put there is refused.
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

// decided is the span of one call: without its rules where the first of them holds
// always.
func decided(n uint32, rules []*rule) span {
	if len(rules[0].when) == 0 && rules[0].only == 0 {
		return span{first: n, do: rules[0].do}
	}
	return span{first: n, rules: rules, do: allow}
}

// mergeSpans orders spans and drops what says the same as the one before. Of
// two that start at the same number the later one given stands: a rule over
// the "allow" that ends its neighbour.
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

// Offsets in struct seccomp_data (linux/seccomp.h). Both architectures are
// little-endian: the low half of an argument comes first.
const (
	seccompNumber = 0
	seccompArch   = 4
	seccompArgs   = 16
)

// maxProgram is BPF_MAXINSNS.
const maxProgram = 4096

// program is a filter being written: instructions whose jumps name labels.
type program struct {
	code []instruction
	// at holds the index in code that each label stands for; -1: not placed.
	at []int
}

// label is a place in a program that may not be written yet.
type label int

// instruction is plain, a conditional jump, or the jump of a scope past a rule.
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

// next is a label for the instruction after the jump that is about to be
// written.
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

// tree writes a binary search over the spans; the number is in A.
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

// leaf writes what happens to the calls of one span: its rules in order, and
// what applies when none of them does.
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

// test writes a look at one argument: it falls through when the test holds and
// goes to other when it does not.
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

// assemble gives every jump its distance. A conditional jump reaches 255
// instructions; one that must reach further becomes a jump over two
// unconditional ones, which have 32 bits for it.
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

// layout is the final index of each instruction, and at the end the length.
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

// distance is how many instructions a jump from i to l skips, or -1.
func (p *program) distance(i int, l label, where []int) int {
	if to := p.at[l]; to > i && to < len(p.code) {
		return where[to] - where[i] - 1
	}
	return -1
}

// distances are those of the conditional jump at i, either way.
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
			out = append(out, bpf.RawInstruction{Op: jumpAlways, Jt: uint8(ins.only), K: uint32(past)})
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
