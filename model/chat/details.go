package chat

import "encoding/json"

// details collects streamed blocks of thinking. A provider may send one piece per token.
type details struct {
	blocks []detail
	size   int // of all pieces of the answer, in bytes
}

// blockSize stands for the memory of a block beside its fields, in bytes.
const blockSize = 512

// add takes pieces. A piece with the type and index of the last block is appended to the
// texts of that block.
func (d *details) add(pieces []detail) {
	for _, p := range pieces {
		if p == nil {
			continue
		}
		for _, v := range p {
			d.size += len(v)
		}
		if n := len(d.blocks); n > 0 && d.blocks[n-1].has(p, "type") && d.blocks[n-1].has(p, "index") {
			d.blocks[n-1].add(p)
		} else {
			d.size += blockSize
			d.blocks = append(d.blocks, p)
		}
	}
}

// take returns and removes the blocks, which are complete.
func (d *details) take() []detail {
	all := d.blocks
	d.blocks = nil
	return all
}

func (b detail) has(p detail, name string) bool { return string(b[name]) == string(p[name]) }

// add appends the texts of p to those of b, as JSON, and replaces what else it has.
func (b detail) add(p detail) {
	for name, v := range p {
		have := b[name]
		grows := (name == "text" || name == "summary" || name == "data") && isText(have)
		switch {
		case grows && isText(v):
			b[name] = append(have[:len(have)-1], v[1:]...)
		case !grows || string(v) != "null":
			b[name] = v
		}
	}
}

func isText(v json.RawMessage) bool { return len(v) > 0 && v[0] == '"' }
