package terminal

import (
	"bytes"
	"strings"
	"time"
	"unicode/utf8"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// What the terminal sends arrives in pieces: ssh cuts it anywhere, and seconds may pass between two
// pieces. Bubble Tea's reader gives up after 50 ms, inside a character as well. Here time decides only
// where the bytes cannot: an Esc key and the first byte of a sequence are the same byte.

const (
	// escWait is how long a lone Esc waits for the rest of a sequence: no longer than a person notices.
	escWait = 100 * time.Millisecond
	// stallWait is how long anything else that is not complete waits: longer than a lost packet takes.
	// A paste that ended too early would go on as keys, with its line breaks as Enter.
	stallWait = 5 * time.Second
)

const pasteStart, pasteEnd = "\x1b[200~", "\x1b[201~"

// decoder makes events of bytes.
type decoder struct {
	keys    uv.EventDecoder
	buf     []byte // not complete; inside a paste, all of it
	pasting bool
	escaped bool      // an Esc was taken for a key, and nothing has come since
	last    time.Time // of the last piece
}

// take decodes a piece.
func (d *decoder) take(now time.Time, piece []byte) (events []uv.Event) {
	if d.escaped && len(piece) > 1 && piece[0] == '[' && unit(append([]byte{ansi.ESC}, piece...)) > 2 {
		d.buf = append(d.buf, ansi.ESC) // it was the first byte of a sequence: one key comes alone
	}
	// A pasted Ctrl+C comes among other bytes: it must not turn the rest of a paste into keys.
	paused := now.Sub(d.last) >= escWait
	d.escaped, d.last = false, now
	if d.pasting && paused && text(&d.keys, piece) == "\x03" {
		return append(events, d.endPaste(d.buf))
	}
	from := len(d.buf)
	d.buf = append(d.buf, piece...)
	for len(d.buf) > 0 {
		if d.pasting {
			from = max(0, from-len(pasteEnd))
			at := bytes.Index(d.buf[from:], []byte(pasteEnd))
			if at < 0 {
				return events
			}
			rest := d.buf[from+at+len(pasteEnd):]
			events = append(events, d.endPaste(d.buf[:from+at]))
			d.buf = rest
			continue
		}
		n := unit(d.buf)
		if n == 0 {
			return events
		}
		events = d.one(events, n)
		from = 0
	}
	return events
}

// one decodes the first n bytes.
func (d *decoder) one(events []uv.Event, n int) []uv.Event {
	seq := d.buf[:n]
	d.buf = d.buf[n:]
	if string(seq) == pasteStart {
		d.pasting = true
		return events
	}
	if rest, ok := bytes.CutPrefix(seq, []byte("\x1b[[")); ok && len(rest) == 1 && rest[0] >= 'A' && rest[0] <= 'E' {
		return append(events, uv.KeyPressEvent{Code: uv.KeyF1 + rune(rest[0]-'A')}) // a Linux console's F1 to F5
	}
	switch _, event := d.keys.Decode(seq); event := event.(type) {
	case uv.MultiEvent:
		return append(events, event...)
	case uv.UnknownEvent, uv.PasteEndEvent:
		return events
	default:
		return append(events, event)
	}
}

// endPaste ends a paste of these bytes.
func (d *decoder) endPaste(pasted []byte) uv.Event {
	d.buf, d.pasting = nil, false
	return uv.PasteEvent{Content: text(&d.keys, pasted)}
}

// wait is how long what is not complete waits after the last piece; 0: nothing is.
func (d *decoder) wait() time.Duration {
	switch {
	case d.pasting:
		return stallWait
	case len(d.buf) == 0:
		return 0
	case len(bytes.Trim(d.buf, "\x1b")) == 0:
		return escWait
	}
	return stallWait
}

// expire decodes what is not complete as it is.
func (d *decoder) expire() (events []uv.Event) {
	if d.pasting {
		return append(events, d.endPaste(d.buf))
	}
	if d.escaped = d.wait() == escWait; d.escaped {
		for range d.buf {
			events = append(events, uv.KeyPressEvent{Code: uv.KeyEscape})
		}
		d.buf = nil
		return events
	}
	return d.one(events, len(d.buf))
}

// unit is the length of the first character or sequence; 0: it is not complete. A control
// character ends every sequence: no answer of a terminal holds one, and Enter and Ctrl+C are some.
func unit(b []byte) int {
	switch {
	case b[0] != ansi.ESC:
		if !utf8.FullRune(b) {
			return 0
		}
		_, n := utf8.DecodeRune(b)
		return n
	case len(b) == 1:
		return 0
	}
	switch b[1] {
	case ansi.ESC: // Alt with a key that sends a sequence
		if len(b) > 2 && b[2] != '[' && b[2] != 'O' {
			return 1
		}
	case '[', 'O':
		return controlSequence(b)
	case ']', 'P', '_', '^', 'X':
		return controlString(b)
	}
	if n := unit(b[1:]); n > 0 {
		return 1 + n
	}
	return 0
}

func controlSequence(b []byte) int {
	for i, c := range b[2:] {
		switch {
		case c < ' ' || c > '~':
			return i + 2
		case c == '[' && i == 0: // a Linux console's F1 to F5 have a second one
		case c == '$' && b[2] <= '9': // rxvt's Shift; a mode's report begins with ?
			return i + 3
		case c >= '@':
			return i + 3
		}
	}
	return 0
}

func controlString(b []byte) int {
	for i, c := range b[2:] {
		switch {
		case c == ansi.BEL:
			return i + 3
		case c == ansi.ESC && i+3 == len(b):
			return 0
		case c == ansi.ESC && b[i+3] == '\\':
			return i + 4
		case c < ' ':
			return i + 2
		}
	}
	return 0
}

// text is what pasted bytes say. Some terminals encode pasted control characters as keys (CSI u);
// other sequences say nothing.
func text(keys *uv.EventDecoder, pasted []byte) string {
	var b strings.Builder
	for len(pasted) > 0 {
		at := bytes.IndexByte(pasted, ansi.ESC)
		if at < 0 {
			at = len(pasted)
		}
		b.WriteString(strings.ToValidUTF8(string(pasted[:at]), ""))
		if pasted = pasted[at:]; len(pasted) == 0 {
			break
		}
		n := 1
		if len(pasted) > 1 && strings.IndexByte("[O]P_^X", pasted[1]) >= 0 {
			if n = unit(pasted); n == 0 {
				break // an end marker that was cut off
			}
			if _, event := keys.Decode(pasted[:n]); n > 2 {
				b.WriteString(keyText(event))
			}
		}
		pasted = pasted[n:]
	}
	return b.String()
}

// keyText is the character of a key.
func keyText(event uv.Event) string {
	key, ok := event.(uv.KeyPressEvent)
	switch {
	case !ok:
		return ""
	case key.Code == uv.KeyEnter:
		return "\n"
	case key.Code == uv.KeyTab:
		return "\t"
	case key.Mod == uv.ModCtrl && key.Code >= 'a' && key.Code <= 'z':
		return string(key.Code & 0x1f)
	}
	return key.Text
}
