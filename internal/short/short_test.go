package short

import (
	"testing"
	"time"
	"unicode/utf8"
)

func TestShort(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Head("äöü", 3), "ä"}, {Head("abc", 3), "abc"}, {Head("abc", -1), ""},
		{Tail("äöü", 3), "ü"}, {Tail("abc", 3), "abc"}, {Tail("abc", -1), ""},
		{Bound("abcdef", 6), "abcdef"}, {Bound("abcdefg", 6), "abc…"}, {Bound("ää", 3), "…"},
		{Cut("äöü", 3), "äöü"}, {Cut("äöüß", 3), "äö…"}, {Cut("a\xff", 3), "a\uFFFD"}, {Cut("", 3), ""},
		{Middle("abcdefg", 7), "abcdefg"}, {Middle("abcdefgh", 7), "abc…fgh"}, {Middle("abcdefgh", 4), "ab…h"},
		{Quote("a\nb", 9), `"a\nb"`}, {Quote("äöü", 3), `"ä"…`},
		{Count(1, "file"), "1 file"}, {Count(0, "file"), "0 files"}, {Count(2, "entry"), "2 entries"}, {Count(2, "match"), "2 matches"},
		{List([]string{"a", "b"}, 2), "a, b"}, {List([]string{"a", "b", "c"}, 1), "a and 2 more"},
		{Size(1), "1 byte"}, {Size(1023), "1023 bytes"}, {Size(1536), "1.5 KiB"}, {Size(64 << 20), "64 MiB"}, {Size(3 << 40), "3072 GiB"},
		{Undialed("dial tcp 127.0.0.1:9: connect: connection refused"), "connection refused: 127.0.0.1:9"}, {Undialed("dial tcp [::1]:9: i/o timeout"), "i/o timeout: [::1]:9"},
		{Undialed("dial tcp: lookup api.example on 192.0.2.1:53: no such host"), "no such host: api.example"}, {Undialed("EOF"), "EOF"}, {Undialed("dial tcp"), "dial tcp"},
		{Duration(14 * time.Millisecond), "14 ms"}, {Duration(1234 * time.Millisecond), "1.2 s"}, {Duration(12 * time.Second), "12 s"},
		{Duration(185 * time.Second), "3m 05s"}, {Duration(125 * time.Minute), "2h 05m"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func FuzzBounds(f *testing.F) {
	for _, s := range []string{"", "abc", "äöüß€", "\xff\xfe\xfd", "a\xf0\x9f"} {
		f.Add(s, 2)
	}
	f.Fuzz(func(t *testing.T, s string, n int) {
		n = 1 + min(max(n, 0), 1000)
		if len(Head(s, n)) > n || len(Tail(s, n)) > n {
			t.Errorf("more than %d bytes: head %q, tail %q", n, Head(s, n), Tail(s, n))
		}
		for _, got := range []string{Cut(s, n), Middle(s, n)} {
			if utf8.RuneCountInString(got) > n || !utf8.ValidString(got) {
				t.Errorf("%q of %q in %d", got, s, n)
			}
		}
	})
}
