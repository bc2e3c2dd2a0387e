// Package linereader reads lines of bounded length from whoever may write them without an end. It is pure.
package linereader

import (
	"bufio"
	"errors"
)

// Read returns the next line with its end, if it has one. Of a line that is longer than most bytes it
// keeps nothing, and gives all of it in pieces to beyond, which may be nil. The error is that of r, and
// may come with a last line.
func Read(r *bufio.Reader, most int, beyond func(piece []byte)) (line []byte, long bool, err error) {
	for {
		piece, err := r.ReadSlice('\n')
		switch {
		case !long && len(line)+len(piece) <= most:
			line = append(line, piece...)
		case beyond != nil:
			beyond(line)
			beyond(piece)
			fallthrough
		default:
			line, long = nil, true
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}
