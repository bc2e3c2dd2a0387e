package terminal

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"codeagent/tui/composer"
	"codeagent/tui/keys"
)

// recorded is what terminals send: typed text, keys, pastes, answers, the mouse, and Enter.
var recorded = []byte("h\u00e9llo \u65e5\u672c\U0001f468\u200d\U0001f469\u200d\U0001f467e\u0301" + "\x1b[A\x1bOB\x1b[1;5C\x1b[3~\x1b[7$\x1bb\x1b\x7f\x1b\r\x01\x7f" +
	pasteStart + "first\r\nsecond \u00fc\U0001f680\ttab \x1b[106;5u\x1b[27;5;106~\x1b[31mred\x1b[0m \x1b x[201~ \x1b[201 x" + pasteEnd +
	"\x1b]11;rgb:1c1c/1c1c/1c1c\x1b\\\x1b]11;rgb:ffff/ffff/ffff\x07\x1b[?2026;2$y\x1b[?1u\x1bP>|tmux 3.4\x1b\\\x1b[I\x1b[O" +
	"\x1b[<64;10;5M\x1b[<0;1;2m\x1b[97;5u\x1b[13;2u\x1b[27u\x1b[27;2;13~" + pasteStart + pasteEnd + "\u00df\r" +
	pasteStart + strings.Repeat("line \u00e4\u6f22 of a long paste\r", 40) + pasteEnd + "ok\x1b[27;5u\r")

// heard is what a decoder makes of pieces that come with pauses; a pause longer than the decoder
// waits lets it give up, as its reader does.
type heard struct {
	d    decoder
	now  time.Time
	text strings.Builder
	// box is the message that is written, with those that were sent before it.
	box  *composer.Composer // nil: it is not looked at
	sent []string
}

func newHeard() *heard {
	box := composer.New()
	return &heard{now: time.Unix(0, 0), box: &box}
}

// written is what the composer makes of the events, as the screen hands them to it.
func (h *heard) written(e uv.Event) {
	switch e := e.(type) {
	case uv.PasteEvent:
		h.box.Paste(e.Content)
	case uv.KeyPressEvent:
		k := tea.Key(e)
		switch do := keys.Standard().Find(k, keys.InComposer); {
		case keys.Typed(k) != "":
			h.box.Typed(keys.Typed(k))
		case do == keys.Send:
			h.sent = append(h.sent, h.box.Message().Text)
			*h.box = composer.New()
		default:
			h.box.Edit(do, 80)
		}
	}
}

func (h *heard) messages() []string { return append(slices.Clone(h.sent), h.box.Message().Text) }

func (h *heard) end() {
	if h.d.wait() > 0 {
		h.note(h.d.expire())
	}
}

func (h *heard) note(events []uv.Event) {
	for _, e := range events {
		if h.box != nil {
			h.written(e)
		}
		fmt.Fprintf(&h.text, "%T %q\n", e, fmt.Sprint(e))
	}
}

func (h *heard) piece(p []byte, pause time.Duration) {
	if wait := h.d.wait(); wait > 0 && pause >= wait {
		h.note(h.d.expire())
	}
	h.now = h.now.Add(pause)
	h.note(h.d.take(h.now, p))
}

func hear(pieces ...string) *heard {
	h := newHeard()
	for _, p := range pieces {
		h.piece([]byte(p), time.Millisecond)
	}
	h.end()
	return h
}

func heardOf(pieces ...string) string {
	return hear(pieces...).text.String()
}

// Ten thousand random cuts and pauses change nothing. Only after an Esc do they stay below the time
// that an Esc waits, where the next byte is not the rest of a sequence that comes whole.
func TestCutsAndPausesChangeNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(27, 3))
	want := heardOf(string(recorded))
	for _, need := range []string{"first\\r\\nsecond", "\\n\\nred", "BackgroundColorEvent", "ModeReportEvent"} {
		if !strings.Contains(want, need) {
			t.Fatalf("the recorded stream, at once, has no %q:\n%s", need, want)
		}
	}
	messages := hear(string(recorded)).messages()
	if len(messages) < 3 || !strings.Contains(strings.Join(messages, "|"), "second ü🚀\ttab") {
		t.Fatalf("the recorded stream, at once, gives %q", messages)
	}
	cuts := 0
	for round := 0; cuts < 10_000; round++ {
		h, rest := newHeard(), recorded
		for most := 1 + random.IntN(1+3*(round%40)); len(rest) > 0; cuts++ {
			n := min(len(rest), 1+random.IntN(most))
			pause := time.Duration(random.Int64N(int64(stallWait)))
			if h.d.wait() == escWait {
				pause %= escWait
			}
			h.piece(rest[:n], pause)
			rest = rest[n:]
		}
		if h.end(); h.text.String() != want {
			t.Fatalf("round %d: %s", round, firstDifference(h.text.String(), want))
		}
		if got := h.messages(); !slices.Equal(got, messages) {
			t.Fatalf("round %d: the messages are %q, want %q", round, got, messages)
		}
	}
}

// Whatever came before, Enter, Esc and Ctrl+C are keys again after a pause.
func TestNothingFreezesTheKeys(t *testing.T) {
	random := rand.New(rand.NewPCG(27, 4))
	odd := []byte("\x1b\x1b\x1b[]P_^XO;$<?M0~\x03\r\x80\xc3\xf0\x9b" + pasteStart)
	for range 10_000 {
		h := heard{now: time.Unix(0, 0)}
		at := 1 + random.IntN(len(recorded))
		h.piece(recorded[:at], 0)
		for range random.IntN(6) {
			h.piece(odd[random.IntN(len(odd)):][:1], time.Duration(random.Int64N(int64(stallWait))))
		}
		before := fmt.Sprintf("%q, pasting %v", h.d.buf[:min(len(h.d.buf), 40)], h.d.pasting)
		h.text.Reset()
		for _, key := range []string{"\r", "\x1b", "\x03"} {
			h.piece([]byte(key), 2*stallWait)
		}
		h.end()
		for _, name := range []string{`"enter"`, `"esc"`, `"ctrl+c"`} {
			if !strings.Contains(h.text.String(), name) {
				t.Fatalf("after %s: no %s in\n%s", before, name, h.text.String())
			}
		}
	}
}

func TestWhatIsNotComplete(t *testing.T) {
	type step struct {
		pause time.Duration
		bytes string
	}
	for name, c := range map[string]struct {
		steps []step
		want  string
	}{
		"a lone Esc":                           {[]step{{0, "\x1b"}, {escWait, "a"}}, "esc a"},
		"two of them":                          {[]step{{0, "\x1b\x1b"}, {escWait, "a"}}, "esc esc a"},
		"the rest of an arrow, late":           {[]step{{0, "\x1b"}, {time.Second, "[A"}}, "esc up"},
		"the rest of a paste's start, late":    {[]step{{0, "\x1b"}, {time.Second, "[200~a\r"}, {0, "b" + pasteEnd}}, "esc {a\rb}"},
		"a bracket typed after Esc":            {[]step{{0, "\x1b"}, {time.Second, "["}, {time.Second, "A"}}, "esc [ A"},
		"half a character":                     {[]step{{0, "\xc3"}, {time.Second, "\xa9"}}, "é"},
		"half a character for ever":            {[]step{{0, "\xf0\x9f"}, {stallWait, "a"}}, "a"},
		"a paste without an end":               {[]step{{0, pasteStart + "a\r"}, {stallWait, "b"}}, "{a\r} b"},
		"a paste with half an end":             {[]step{{0, pasteStart + "a\x1b[20"}, {stallWait, "b"}}, "{a} b"},
		"Ctrl+C in a paste that stalls":        {[]step{{0, pasteStart + "a"}, {escWait, "\x03"}, {0, "b"}}, "{a} b"},
		"Ctrl+C as CSI u":                      {[]step{{0, pasteStart + "a"}, {escWait, "\x1b[99;5u"}, {0, "b"}}, "{a} b"},
		"a pasted Ctrl+C":                      {[]step{{0, pasteStart + "a"}, {escWait, "\x03\r"}, {0, "b" + pasteEnd}}, "{a\x03\rb}"},
		"an end without a start":               {[]step{{0, pasteEnd + "a"}}, "a"},
		"Enter in an answer":                   {[]step{{0, "\x1b]11;rgb"}, {0, "\r"}}, "enter"},
		"Ctrl+C in a sequence":                 {[]step{{0, "\x1b[1;"}, {0, "\x03"}}, "ctrl+c"},
		"keys as CSI u in a paste":             {[]step{{0, pasteStart + "a\x1b[13u\x1b[98u\x1b[9ué" + pasteEnd}}, "{a\nb\té}"},
		"a Linux console's F1 to F5":           {[]step{{0, "\x1b[["}, {time.Second, "A\x1b[[B\x1b[[C\x1b[[D\x1b[[Ea"}}, "f1 f2 f3 f4 f5 a"},
		"an Alt key":                           {[]step{{0, "\x1b"}, {escWait / 2, "b"}}, "alt+b"},
		"an arrow with Alt":                    {[]step{{0, "\x1b\x1b[A"}}, "alt+up"},
		"Alt and a bracket, and nothing after": {[]step{{0, "\x1b["}, {stallWait, "a"}}, "alt+[ a"},
	} {
		h := heard{now: time.Unix(0, 0)}
		var got []string
		note := func(events []uv.Event) {
			for _, e := range events {
				switch e := e.(type) {
				case uv.PasteEvent:
					got = append(got, "{"+e.Content+"}")
				case fmt.Stringer:
					got = append(got, e.String())
				default:
					got = append(got, fmt.Sprintf("%T", e))
				}
			}
		}
		for _, s := range c.steps {
			if wait := h.d.wait(); wait > 0 && s.pause >= wait {
				note(h.d.expire())
			}
			h.now = h.now.Add(s.pause)
			note(h.d.take(h.now, []byte(s.bytes)))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", name, strings.Join(got, " "), c.want)
		}
	}
}

// A long paste in small pieces is searched once.
func TestALongPasteIsCheap(t *testing.T) {
	h := heard{now: time.Unix(0, 0)}
	h.piece([]byte(pasteStart), 0)
	for range 20_000 {
		h.piece(bytes.Repeat([]byte("x"), 500), 0)
	}
	if events := h.d.take(h.now, []byte(pasteEnd)); len(events) != 1 || len(events[0].(uv.PasteEvent).Content) != 10_000_000 {
		t.Errorf("%d events", len(events))
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d: %s, want %s", i, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}
