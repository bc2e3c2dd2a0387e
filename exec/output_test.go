package exec

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// The kept parts equal the ends of the output, however it was split into pieces.
func TestKeeperKeepsTheEnds(t *testing.T) {
	for seed := range uint64(40) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var k keeper
		var all, errs []byte
		for range rnd.IntN(60) {
			piece := make([]byte, rnd.IntN(3000))
			if rnd.IntN(10) == 0 {
				piece = make([]byte, rnd.IntN(50_000))
			}
			for i := range piece {
				piece[i] = byte(rnd.Uint32())
			}
			stream := 1 + rnd.IntN(2)
			k.add(stream, piece)
			all = append(all, piece...)
			if stream == 2 {
				errs = append(errs, piece...)
			}
		}
		o := k.output()
		head := all[:min(len(all), keepBytes)]
		tail := all[len(head):]
		tail = tail[max(0, len(tail)-keepBytes):]
		errs = errs[max(0, len(errs)-keepBytes):]
		for name, c := range map[string]struct{ got, want []byte }{"head": {o.Head, head}, "tail": {o.Tail, tail}, "errors": {o.Errors, errs}} {
			if !bytes.Equal(c.got, c.want) {
				t.Fatalf("seed %d: the %s differs: %d bytes, want %d", seed, name, len(c.got), len(c.want))
			}
		}
		if o.Total != int64(len(all)) || o.Skipped != o.Total-int64(len(head)+len(tail)) {
			t.Fatalf("seed %d: counts %d, %d of %d", seed, o.Total, o.Skipped, len(all))
		}
	}
}

func TestTextIsValidWhereTheOutputWas(t *testing.T) {
	for shift := range 4 {
		var k keeper
		k.add(1, []byte(strings.Repeat("x", shift)+strings.Repeat("€", 20_000)))
		o := k.output()
		text := o.Text()
		if !utf8.ValidString(text) {
			t.Errorf("shift %d: the cut went through a character", shift)
		}
		if !strings.Contains(text, " bytes cut, not kept …]\n") {
			t.Errorf("shift %d: no notice", shift)
		}
	}
	k := keeper{}
	k.add(1, []byte("\xff\xfe raw"))
	if o := k.output(); o.Text() != "\xff\xfe raw" {
		t.Errorf("short output changed: %q", o.Text())
	}
}
