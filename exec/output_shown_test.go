package exec

import "testing"

func TestShown(t *testing.T) {
	for _, c := range []struct {
		name  string
		shown func(string) string
		rows  map[string]string
	}{
		{"Shown", Shown, map[string]string{
			"":                                      "",
			"plain\ttext\n":                         "plain\ttext\n",
			"\x1b[1;32mok\x1b[0m done\n":            "ok done\n",
			"\x1b]8;;http://h/\x1b\\link\x1b]8;;\a": "link",
			"10%\r20%\r100%\nnext\n":                "100%\nnext\n",
			"10%\r20%\r":                            "20%",
			"terminal\r\nlines\r\n":                 "terminal\nlines\n",
			"\r\r\n":                                "\n",
			"nul\x00bell\a del\x7f c1\u009b":        "nul\uFFFDbell\uFFFD del\uFFFD c1\uFFFD",
			"not \xff UTF-8":                        "not \uFFFD UTF-8",
			"\x1b]52;never ended\nthe rest\n":       "\nthe rest\n",
			"\x1b[12\nthe rest":                     "\nthe rest",
			"\x1b(Bset\x1b7saved\x1b":               "setsaved",
			"\x1b[\x1b[31mtwice":                    "twice",
			"žluťoučký 漢字 \u202eright to left":      "žluťoučký 漢字 \u202eright to left",
		}},
		{"ShownInTerminal", ShownInTerminal, map[string]string{
			"plain\r\nlines\r\n":                           "plain\nlines\n",
			"\x1b[1;31mred\x1b[0m \x1b[?25l\x1b[2K":        "red ",
			"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b":     "ab",
			"\x1bP1$r0m\x1b\\c\x1b(Bd\x1b=\x1b>\x1b7\x1b8": "cd",
			"10%\r20%\r100%\r\nnext":                       "100%\nnext",
			"ab\bc\a":                                      "ac",
			"\b\b":                                         "",
			"\x1b[31":                                      "",
		}},
	} {
		for output, want := range c.rows {
			if got := c.shown(output); got != want {
				t.Errorf("%s(%q): %q, want %q", c.name, output, got, want)
			}
		}
	}
}
