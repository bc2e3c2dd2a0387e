package linereader

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// FuzzRead: every byte comes once, as a part of a line or of one that is too long.
func FuzzRead(f *testing.F) {
	for _, text := range []string{"", "\n", "a\nb", "a\n\nb\n", strings.Repeat("x", 100) + "\nb\n", strings.Repeat("x", 40)} {
		f.Add([]byte(text), 20)
	}
	f.Fuzz(func(t *testing.T, data []byte, most int) {
		var all, over []byte
		r := bufio.NewReaderSize(bytes.NewReader(data), 16)
		for {
			over = nil
			line, long, err := Read(r, most, func(piece []byte) { over = append(over, piece...) })
			if long != (over != nil) || long && line != nil || len(line) > max(most, 0) || long && len(over) <= most {
				t.Fatalf("%q, long %t, beyond %q", line, long, over)
			}
			all = append(append(all, line...), over...)
			if n := bytes.Count(append(line, over...), []byte("\n")); n > 1 || n == 0 && err == nil {
				t.Fatalf("%d ends in %q%q", n, line, over)
			}
			if errors.Is(err, io.EOF) {
				break
			}
		}
		if !bytes.Equal(all, data) {
			t.Errorf("%q became %q", data, all)
		}
	})
}
