package visible

import "testing"

func TestFactsShowGapsAndSymbols(t *testing.T) {
	for text, want := range map[string]string{
		"write /srv/my notes/a":       "write /srv/my notes/a",
		"write ~/Lettres/été – 1.txt": "write ~/Lettres/été – 1.txt",
		"write /a   ▲ nothing opens":  "write /a␣␣␣<U+25B2> nothing opens",
		"write /a │ the model says":   "write /a <U+2502> the model says",
		"write /a\u3000\u00a0▲ x":     "write /a<U+3000><U+00A0><U+25B2> x",
		"write /a\tb 1\u202f000":      "write /a␉b 1\u202f000",
		"⊘ refused  ":                 "⊘ refused␣␣",
	} {
		if got := Fact(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
