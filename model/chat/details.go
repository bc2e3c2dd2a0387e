package chat

import (
	"encoding/json"
	"strings"
)

// details collects streamed blocks of thinking. A provider may send one piece per token,
// so growing texts are kept as text and encoded once.
type details struct {
	blocks []*block
	size   int // of all pieces of the answer, in bytes
}

// blockSize stands for the memory of a block beside its fields, in bytes.
const blockSize = 512

// block is one block, built from its pieces.
type block struct {
	fields detail
	texts  map[string]*strings.Builder // texts that came in several pieces
}

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
			d.blocks = append(d.blocks, &block{fields: p, texts: map[string]*strings.Builder{}})
		}
	}
}

// take returns and removes the blocks, which are complete.
func (d *details) take() []detail {
	var all []detail
	for _, b := range d.blocks {
		for name, t := range b.texts {
			if joined, err := json.Marshal(t.String()); err == nil {
				b.fields[name] = joined
			}
		}
		all = append(all, b.fields)
	}
	d.blocks = nil
	return all
}

func (b *block) has(p detail, name string) bool { return string(b.fields[name]) == string(p[name]) }

func (b *block) add(p detail) {
	for name, v := range p {
		if !b.grow(name, v) {
			delete(b.texts, name)
			b.fields[name] = v
		}
	}
}

// grow appends v to the text name; false if either is not a text.
func (b *block) grow(name string, v json.RawMessage) bool {
	var have, more string
	if name != "text" && name != "summary" && name != "data" || json.Unmarshal(v, &more) != nil {
		return false
	}
	if b.texts[name] == nil {
		if json.Unmarshal(b.fields[name], &have) != nil {
			return false
		}
		b.texts[name] = &strings.Builder{}
		b.texts[name].WriteString(have)
	}
	b.texts[name].WriteString(more)
	return true
}
