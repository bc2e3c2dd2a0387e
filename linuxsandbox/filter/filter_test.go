//go:build linux

package filter

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
)

// everyOptions are all combinations, including those that the product never uses; the last two come with
// each value of each other one.
var everyOptions = func() (all []Options) {
	for bits := range 1 << 6 {
		has := func(bit int) bool { return bits>>bit&1 != 0 }
		all = append(all, Options{AllowInet: has(0), AllowUnix: has(1), Ask: has(2), AskSends: has(3), AskLocks: has(4), AskReads: has(5), AskLooks: bits%17 < 8, AskPrograms: bits%19 < 9, OwnIPC: bits%3 == 0, Traces: bits%5 < 2, AskSignals: bits%7 < 3, AskInet: bits%11 < 5, Empties: bits%13 < 6,
			User: uint32(bits % 2), Group: uint32(1 - bits%2)})
	}
	return all
}()

// stated is the table's decision for a call, evaluated as the table's comment defines it and with
// the library's own numbers. It shares no code with the assembler.
type stated struct {
	audit  uint32
	names  map[int]string
	rules  map[string][]rule
	own    map[uint32]uint32 // by what stands for it in the table
	newest int
}

func newStated(t testing.TB, goarch string, o Options) stated {
	info := libraryArch(t, goarch)
	s := stated{audit: uint32(info.ID), names: info.SyscallNumbers, rules: map[string][]rule{}, own: map[uint32]uint32{ownUser: o.User, ownGroup: o.Group}}
	s.newest = slices.Max(slices.Collect(maps.Keys(info.SyscallNumbers)))
	for _, r := range table {
		inScope := (r.only&inetDenied == 0 || !o.AllowInet) && (r.only&unixDenied == 0 || !o.AllowUnix) &&
			(r.only&inetAllowed == 0 || o.AllowInet) && (r.only&unixAllowed == 0 || o.AllowUnix) &&
			(r.only&filesAsked == 0 || o.Ask) && (r.only&brokered == 0 || o.AllowUnix || o.Ask) && (r.only&sendsAsked == 0 || o.AskSends) &&
			(r.only&locksAsked == 0 || o.AskLocks) && (r.only&readsAsked == 0 || o.AskReads) && (r.only&looksAsked == 0 || o.AskLooks) && (r.only&programsAsked == 0 || o.AskPrograms) &&
			(r.only&signalsAsked == 0 || o.AskSignals) && (r.only&inetAsked == 0 || o.AskInet) && (r.only&ownIPC == 0 || o.OwnIPC) && (r.only&traces == 0 || o.Traces) && (r.only&empties == 0 || o.Empties)
		for _, name := range r.calls {
			if inScope {
				s.rules[name] = append(s.rules[name], r)
			}
		}
	}
	return s
}

func (s stated) verdict(c attack.Call) action {
	name, known := s.names[int(c.Number)]
	switch {
	case c.Arch != s.audit:
		return kill
	case s.audit == unix.AUDIT_ARCH_X86_64 && int32(c.Number) >= 1<<30:
		return kill
	case int64(c.Number) > int64(s.newest), !known:
		return enosys
	}
	for _, r := range s.rules[name] {
		if !slices.ContainsFunc(r.when, func(t test) bool { return !s.holds(t, c.Args[t.arg]) }) {
			return r.do
		}
	}
	return allow
}

func (s stated) holds(t test, arg uint64) bool {
	if t.mask != 0 {
		arg &= 0xffffffff<<32 | uint64(t.mask)
	}
	if !t.wide {
		arg = uint64(uint32(arg))
	}
	for _, v := range t.in {
		if own, is := s.own[v]; is {
			v = own
		}
		if arg == uint64(v) {
			return !t.not
		}
	}
	return t.not
}

// boundaryCalls are, for one architecture, every number from 0 to 600 and some far above. Each
// argument that a rule of the call tests takes every value of the rule, the values beside it, and
// each of these with high bits set, in all combinations.
//
// names, unless nil, limits the result to these calls.
func boundaryCalls(t testing.TB, goarch string, names []string, yield func(attack.Call) bool) {
	info := libraryArch(t, goarch)
	numbers := []uint32{0x3fffffff, 0x40000000, 0x40000000 + 41, 0x40000000 + 520, 0x5fffffff, 0x7fffffff, 0x80000000, 0xc0000000, 0xfffffffe, math.MaxUint32}
	for n := range uint32(601) {
		numbers = append(numbers, n)
	}
	for _, n := range numbers {
		if names != nil && !slices.Contains(names, info.SyscallNumbers[int(n)]) {
			continue
		}
		for _, audit := range []uint32{uint32(info.ID), unix.AUDIT_ARCH_I386, unix.AUDIT_ARCH_ARM, 0, math.MaxUint32} {
			if !yield(attack.Call{Number: n, Arch: audit}) {
				return
			}
		}
		values := boundaryArguments(info.SyscallNumbers[int(n)])
		full := attack.Call{Number: n, Arch: uint32(info.ID), IP: math.MaxUint64}
		for i := range full.Args {
			full.Args[i] = math.MaxUint64
		}
		if !combinations(values, 0, full, yield) || !combinations(values, 0, attack.Call{Number: n, Arch: full.Arch}, yield) {
			return
		}
	}
}

// boundaryArguments are the values to try in each argument of a call; none for an argument that no
// rule tests.
func boundaryArguments(name string) [6][]uint64 {
	var out [6][]uint64
	add := func(arg int, v uint32) {
		out[arg] = append(out[arg], uint64(v), uint64(v)|1<<32, uint64(v)|1<<63)
	}
	for _, r := range table {
		if !slices.Contains(r.calls, name) {
			continue
		}
		for _, t := range r.when {
			for _, v := range append([]uint32{0, math.MaxUint32}, t.in...) {
				add(t.arg, v-1)
				add(t.arg, v)
				add(t.arg, v+1)
			}
			for bit := uint64(1); bit != 1<<32 && t.mask != 0; bit <<= 1 {
				out[t.arg] = append(out[t.arg], bit, uint64(t.in[0])|bit)
			}
		}
	}
	for i := range out {
		slices.Sort(out[i])
		out[i] = slices.Compact(out[i])
	}
	return out
}

func combinations(values [6][]uint64, arg int, c attack.Call, yield func(attack.Call) bool) bool {
	for arg < len(values) && len(values[arg]) == 0 {
		arg++
	}
	if arg == len(values) {
		return yield(c)
	}
	for _, v := range values[arg] {
		c.Args[arg] = v
		if !combinations(values, arg+1, c, yield) {
			return false
		}
	}
	return true
}

// firstDifference returns the first boundary call for which prog and the stated table differ, and
// the number of calls tried.
func firstDifference(t testing.TB, prog []bpf.RawInstruction, goarch string, o Options, names []string) (different string, tried int) {
	s := newStated(t, goarch, o)
	boundaryCalls(t, goarch, names, func(c attack.Call) bool {
		tried++
		got, _, err := attack.Interpret(prog, c)
		if err != nil {
			different = fmt.Sprintf("%+v: %v", c, err)
		} else if want := s.verdict(c); action(got) != want {
			different = fmt.Sprintf("%s %+v: program %#x, table %#x", s.names[int(c.Number)], c, got, want)
		}
		return different == ""
	})
	return different, tried
}

func TestFilterIsTheStatedTable(t *testing.T) {
	sample := machine.Sample(t, 3)
	for _, a := range arches {
		for i, o := range everyOptions {
			if !sample.Has(i) {
				continue
			}
			prog, err := Program(a.goarch, o)
			if err != nil {
				t.Fatal(err)
			}
			different, tried := firstDifference(t, prog, a.goarch, o, nil)
			if different != "" {
				t.Errorf("%s %+v: %s", a.goarch, o, different)
			}
			t.Logf("%s %+v: %d instructions, %d calls compared", a.goarch, o, len(prog), tried)
		}
	}
}

// TestEveryRowMatters removes one row, one test, one value, one mask or one width of the table at a
// time: the comparison must notice each.
func TestEveryRowMatters(t *testing.T) {
	spoiled := 0
	for i, r := range table {
		spoil := func(what string, table []rule) {
			spoiled++
			if !noticed(t, table, r) {
				t.Errorf("row %d %v without %s: no call is decided otherwise", i, r.calls, what)
			}
		}
		spoil("itself", slices.Delete(slices.Clone(table), i, i+1))
		for k, call := range r.calls {
			fewer := r
			fewer.calls = slices.Delete(slices.Clone(r.calls), k, k+1)
			spoil(call, replaced(i, fewer))
		}
		for j, one := range r.when {
			with := func(w ...test) []rule {
				changed := r
				changed.when = slices.Concat(r.when[:j], w, r.when[j+1:])
				return replaced(i, changed)
			}
			spoil(fmt.Sprintf("test %d", j), with())
			for k, v := range one.in {
				fewer := one
				fewer.in = slices.Delete(slices.Clone(one.in), k, k+1)
				spoil(fmt.Sprintf("value %#x of test %d", v, j), with(fewer))
			}
			if one.mask != 0 {
				bare := one
				bare.mask = 0
				spoil(fmt.Sprintf("the mask of test %d", j), with(bare))
			}
			narrow := one
			narrow.wide = !one.wide
			spoil(fmt.Sprintf("the width of test %d", j), with(narrow))
		}
	}
	t.Logf("%d spoiled tables, each noticed", spoiled)
}

// noticed reports whether a program made from a table with a spoiled r differs from the stated
// table for r's calls, where r applies.
func noticed(t *testing.T, table []rule, r rule) bool {
	for _, a := range arches {
		prog, err := assemble(table, a.goarch)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range everyOptions {
			if !r.only.covers(o) {
				continue
			}
			linked, err := link(prog, o)
			if err != nil {
				t.Fatal(err)
			}
			if different, _ := firstDifference(t, linked, a.goarch, o, r.calls); different != "" {
				return true
			}
		}
	}
	return false
}

func replaced(i int, r rule) []rule {
	changed := slices.Clone(table)
	changed[i] = r
	return changed
}

// FuzzFilter compares program and table for random calls.
func FuzzFilter(f *testing.F) {
	seed := func(n uint32, args ...uint64) {
		b := make([]byte, 0, 64)
		b = binary.LittleEndian.AppendUint32(b, n)
		for _, v := range args {
			b = binary.LittleEndian.AppendUint64(b, v)
		}
		f.Add(b)
	}
	seed(unix.SYS_SOCKET, unix.AF_UNIX|1<<32, 1, 0)
	seed(unix.SYS_IOCTL, 0, unix.TIOCSTI|1<<32)
	seed(unix.SYS_CLONE, unix.CLONE_NEWUSER|17)
	seed(unix.SYS_PRLIMIT64, 1<<32, 7, 1<<40)
	type built struct {
		s    stated
		prog []bpf.RawInstruction
	}
	var all []built
	for _, a := range arches {
		for _, o := range everyOptions {
			prog, err := Program(a.goarch, o)
			if err != nil {
				f.Fatal(err)
			}
			all = append(all, built{newStated(f, a.goarch, o), prog})
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		b = append(b, make([]byte, 64)...)
		c := attack.Call{Number: binary.LittleEndian.Uint32(b)}
		for i := range c.Args {
			c.Args[i] = binary.LittleEndian.Uint64(b[4+8*i:])
		}
		for _, one := range all {
			c.Arch = one.s.audit
			got, _, err := attack.Interpret(one.prog, c)
			if want := one.s.verdict(c); err != nil || action(got) != want {
				t.Fatalf("%+v: program %#x (%v), table %#x", c, got, err, want)
			}
		}
	})
}

// TestJumpsReach builds a table so large that a conditional jump's eight bits do not span the
// search tree.
func TestJumpsReach(t *testing.T) {
	var many []uint32
	for v := range uint32(500) {
		many = append(many, 3*v+1)
	}
	table := append([]rule{
		{calls: []string{"ioctl"}, when: []test{{arg: 1, in: many}}, do: enosys},
		{calls: []string{"ioctl"}, when: []test{{arg: 2, in: many, not: true}}, do: eopnotsupp},
		{calls: []string{"ioctl"}, when: []test{{arg: 0, in: many}, {arg: 3, in: []uint32{7}, wide: true}}, do: eafnosupport},
	}, table...)
	prog, err := assemble(table, "amd64")
	if err != nil {
		t.Fatal(err)
	}
	if prog, err = link(prog, Options{}); err != nil {
		t.Fatal(err)
	}
	far := 0
	for _, ins := range prog {
		if ins.Op == 0x05 && ins.K > math.MaxUint8 {
			far++
		}
	}
	if far == 0 {
		t.Fatal("no jump beyond 255: this test shows nothing")
	}
	in, out := uint64(3*499+1), uint64(2)
	for _, row := range []struct {
		args [6]uint64
		want action
	}{
		{[6]uint64{out, in, in}, enosys},
		{[6]uint64{out, 1, out}, enosys},
		{[6]uint64{out, out, out}, eopnotsupp},
		{[6]uint64{in, out, in, 7}, eafnosupport},
		{[6]uint64{in, out, in, 7 | 1<<32}, allow},
		{[6]uint64{in, unix.TIOCSTI, in}, eperm},
	} {
		got, _, err := attack.Interpret(prog, attack.Call{Number: unix.SYS_IOCTL, Arch: unix.AUDIT_ARCH_X86_64, Args: row.args})
		if err != nil || action(got) != row.want {
			t.Errorf("%v: %#x (%v), want %#x", row.args, got, err, row.want)
		}
	}
	if _, err := assemble(append(table, table[:3]...), "amd64"); err == nil {
		t.Error("a program longer than the kernel takes was not refused")
	}
}

func TestFilterRefusesWhatItDoesNotKnow(t *testing.T) {
	if _, err := Program("riscv64", Options{}); err == nil {
		t.Error("a filter for an architecture that has none")
	}
	if _, err := assemble(table, "riscv64"); err == nil {
		t.Error("an unknown architecture was accepted")
	}
	slip := []rule{{calls: []string{"ptrase"}, do: eperm}}
	if _, err := assemble(slip, "amd64"); err == nil {
		t.Error("a misspelt call was accepted")
	}
	if _, err := Install(nil, false); err == nil {
		t.Error("an empty program was accepted")
	}
}

// TestEveryRowSaysWhy: every row has a reason.
func TestEveryRowSaysWhy(t *testing.T) {
	for i, r := range table {
		if len(r.why) < 8 || len(r.calls) == 0 {
			t.Errorf("row %d %v: why %q", i, r.calls, r.why)
		}
	}
}

// TestHotCallsStayInTheBitmap: the kernel skips the program for a call that the number alone
// decides.
func TestHotCallsStayInTheBitmap(t *testing.T) {
	argumentsMatter := map[string]bool{
		"ioctl": true, "fcntl": true, "clone": true, "socket": true, "socketpair": true, "sendto": true, "sendmsg": true, "sendmmsg": true,
		"prlimit64": true, "setrlimit": true, "personality": true, "unshare": true, "setpriority": true, "ioprio_set": true, "move_pages": true,
		"migrate_pages": true, "sched_setparam": true, "sched_setscheduler": true, "sched_setattr": true, "sched_setaffinity": true,
		"setuid": true, "setreuid": true, "setresuid": true, "setgid": true, "setregid": true, "setresgid": true,
	}
	for _, a := range arches {
		prog, err := Program(a.goarch, Options{})
		if err != nil {
			t.Fatal(err)
		}
		info := libraryArch(t, a.goarch)
		for n, name := range info.SyscallNumbers {
			if _, ok := attack.Constant(prog, attack.Call{Number: uint32(n), Arch: uint32(info.ID)}); ok == argumentsMatter[name] {
				t.Errorf("%s %s: decided by its number alone: %v", a.goarch, name, ok)
			}
		}
	}
}
