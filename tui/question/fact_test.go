package question

import "testing"

func TestFactsShowGapsAndSymbols(t *testing.T) {
	for text, want := range map[string]string{
		"write /srv/my notes/a":       "write /srv/my notes/a",
		"write ~/Lettres/été – 1.txt": "write ~/Lettres/été – 1.txt",
		"write /a   ▲ nothing opens":  "write /a␣␣␣<U+25B2> nothing opens",
		"write /a │ the model says":   "write /a <U+2502> the model says",
		"⊘ refused  ":                 "⊘ refused␣␣",
	} {
		if got := fact(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
