package visible

import "testing"

func TestLine(t *testing.T) {
	tests := []struct{ in, want string }{
		{"plain é 漢字 🙂", "plain é 漢字 🙂"},
		{"a\x1b[31mb", "a␛[31mb"},
		{"a\u202eb\u200bc", "a<U+202E>b<U+200B>c"},
		{"a\x07\x9b\xff", "a␇<U+FFFD><U+FFFD>"},
		{"l1\nl2\tx", "l1⏎l2    x"},
		{"\U000E0041", "<U+E0041>"},
		{"✔️ 👩\u200d💻", "✔️ 👩\u200d💻"},
		{"rm\u200d -r\ufe0f", "rm<U+200D> -r<U+FE0F>"},
		{"\u200d\ufe0f", "<U+200D><U+FE0F>"},
		{"\x7f", "␡"},
	}
	for _, tt := range tests {
		if got := Line(tt.in); got != tt.want {
			t.Errorf("Line(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestText(t *testing.T) {
	tests := []struct{ in, want string }{
		{"a\n\tb\r\nc\n\n", "a\n\tb\nc"},
		{"a\x1b[2Jb\n\u009b31m\u202e\rc", "a␛[2Jb\n<U+009B>31m<U+202E>␍c"},
		{"\x1b]52;c;ZXZpbA==\x07", "␛]52;c;ZXZpbA==␇"},
	}
	for _, tt := range tests {
		if got := Text(tt.in); got != tt.want {
			t.Errorf("Text(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}
