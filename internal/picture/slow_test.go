package picture

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"image/jpeg"
	"testing"
	"time"
)

// slowJPEG returns a progressive JPEG of side times side pixels. Each of its scans says in a
// few bytes that nothing changes, and a decoder passes over the whole picture for each.
func slowJPEG(side, scans int) []byte {
	var b bytes.Buffer
	segment := func(marker byte, data ...byte) {
		b.Write([]byte{0xff, marker})
		_ = binary.Write(&b, binary.BigEndian, uint16(len(data)+2))
		b.Write(data)
	}
	b.Write([]byte{0xff, 0xd8})
	segment(0xdb, append([]byte{0}, bytes.Repeat([]byte{1}, 64)...)...)
	segment(0xc2, 8, byte(side>>8), byte(side), byte(side>>8), byte(side), 1, 1, 0x11, 0)
	table := make([]byte, 16)
	table[0] = 1
	segment(0xc4, append(append([]byte{0x00}, table...), 0)...)    // DC: "0" is a difference of 0
	segment(0xc4, append(append([]byte{0x10}, table...), 0xe0)...) // AC: "0" is a run of 2^14 empty blocks and more
	blocks := (side + 7) / 8 * ((side + 7) / 8)
	segment(0xda, 1, 1, 0, 0, 0, 0)
	b.Write(make([]byte, (blocks+7)/8))
	runs := (blocks + 1<<14 - 1) >> 14
	empty := make([]byte, (15*runs+7)/8)
	for range scans {
		segment(0xda, 1, 1, 0, 1, 63, 0)
		b.Write(empty)
	}
	b.Write([]byte{0xff, 0xd9})
	return b.Bytes()
}

// TestSlow: decoding a file that would take hours ends with the context, without an error about
// damage.
func TestSlow(t *testing.T) {
	file := slowJPEG(5000, 300_000)
	if len(file) > MaxFile {
		t.Fatalf("the attack has %d bytes, and would not be looked at", len(file))
	}
	if _, err := jpeg.Decode(bytes.NewReader(slowJPEG(5000, 1))); err != nil {
		t.Fatalf("the attack is not a JPEG: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Read(ctx, "x.jpg", file); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it ended with %v", err)
	}
}
