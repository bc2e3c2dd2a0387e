package git

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // git's format
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// Threat: git checks the path of an entry when it adds one, and not when it reads the index. An index with
// the path .git/hooks/post-checkout makes "git restore ." write that file, and "../x" leads out of the
// work tree.

var errFormat = errors.New("not an index that git writes")

// copyIndex returns an index (gitformat-index(5)) with the entries and extensions of text, or an error if a
// path in it is not one that git adds. The tables of offsets are left out (EOIE, IEOT): git would read entries
// where they say.
func copyIndex(text []byte) ([]byte, error) {
	var out []byte
	err := errFormat
	// The size of a hash is a setting of the repository. What either size makes of text must hold.
	for _, size := range []int{sha1.Size, sha256.Size} {
		made, bad := reader{text: text, hash: size}.copy()
		switch {
		case errors.Is(bad, errFormat):
		case bad != nil:
			return nil, bad
		case out != nil:
			return nil, errFormat // it is not known which git reads
		default:
			out, err = made, nil
		}
	}
	return out, err
}

type reader struct {
	text []byte
	at   int
	hash int // the size of one, in bytes
}

const (
	header   = 12
	stats    = 40 // what an entry says of the file, before its hash
	tree     = 0o040000
	modeAt   = 24
	extended = 0x4000
	nameBits = 0x0fff
)

func (r reader) copy() ([]byte, error) {
	end := len(r.text) - r.hash
	if end < header || string(r.text[:4]) != "DIRC" {
		return nil, errFormat
	}
	version, count := binary.BigEndian.Uint32(r.text[4:]), binary.BigEndian.Uint32(r.text[8:])
	if version < 2 || version > 4 {
		return nil, errFormat
	}
	names := make([]string, 0, min(int(count), end/stats))
	r.at = header
	name := ""
	for range count {
		mode, next, err := r.entry(version, name, end)
		if err != nil {
			return nil, err
		}
		if name = next; mode == tree {
			name = strings.TrimSuffix(name, "/") // a folder of a sparse index
		}
		names = append(names, name)
		name = next
	}
	out, split := bytes.Clone(r.text[:r.at]), false
	for r.at < end {
		if end-r.at < 8 {
			return nil, errFormat
		}
		kind, size := string(r.text[r.at:r.at+4]), int(binary.BigEndian.Uint32(r.text[r.at+4:]))
		next := r.at + 8 + size
		if next > end {
			return nil, errFormat
		}
		if split = split || kind == "link"; kind != "EOIE" && kind != "IEOT" {
			out = append(out, r.text[r.at:next]...)
		}
		r.at = next
	}
	for _, name := range names {
		if !added(name) && !(name == "" && split) { // an entry that replaces one of the shared index
			return nil, fmt.Errorf("the path %.200q in the index is not one that git adds", name)
		}
	}
	return r.summed(out), nil
}

// summed adds the hash of out, or zeros where text has them (index.skipHash).
func (r reader) summed(out []byte) []byte {
	last := r.text[len(r.text)-r.hash:]
	switch {
	case bytes.Equal(last, make([]byte, r.hash)):
		return append(out, last...)
	case r.hash == sha1.Size:
		sum := sha1.Sum(out) //nolint:gosec // git's format
		return append(out, sum[:]...)
	}
	sum := sha256.Sum256(out)
	return append(out, sum[:]...)
}

// entry reads the entry at r.at; before is the name of the one before it.
func (r *reader) entry(version uint32, before string, end int) (mode uint32, name string, err error) {
	start := r.at
	r.at += stats + r.hash + 2
	if r.at > end {
		return 0, "", errFormat
	}
	mode = binary.BigEndian.Uint32(r.text[start+modeAt:])
	flags := binary.BigEndian.Uint16(r.text[r.at-2:])
	if flags&extended != 0 {
		if r.at += 2; version < 3 || r.at > end {
			return 0, "", errFormat
		}
	}
	if version == 4 {
		strip, err := r.offset(end)
		if err != nil || strip > len(before) {
			return 0, "", errFormat
		}
		name = before[:len(before)-strip]
	}
	rest := r.text[r.at:end]
	length := bytes.IndexByte(rest, 0)
	if length < 0 || version < 4 && flags&nameBits != nameBits && int(flags&nameBits) != length {
		return 0, "", errFormat
	}
	name += string(rest[:length])
	r.at += length + 1
	if version < 4 { // one to eight zeros, to a multiple of eight
		padded := start + (r.at-1-start+8)&^7
		if padded > end || len(bytes.Trim(r.text[r.at-1:padded], "\x00")) > 0 {
			return 0, "", errFormat
		}
		r.at = padded
	}
	return mode, name, nil
}

// offset reads a number as git writes the offsets of packs (decode_varint).
func (r *reader) offset(end int) (int, error) {
	n := 0
	for first := true; r.at < end; first = false {
		c := r.text[r.at]
		r.at++
		if !first {
			n++
		}
		if n = n<<7 | int(c&0x7f); c&0x80 == 0 {
			return n, nil
		}
		if n > 1<<40 {
			break
		}
	}
	return 0, errFormat
}

// added reports whether git would add an entry of this path (verify_path).
func added(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." || IsEntry(part) || strings.EqualFold(part, "git~1") {
			return false
		}
	}
	return true
}
