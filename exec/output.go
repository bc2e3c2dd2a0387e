package exec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// keepBytes is how much of the head and of the tail of an output is kept: 20 KiB in all,
// about as much as is useful to a model.
const keepBytes = 10 << 10

// Output is what a command printed, both streams together.
type Output struct {
	// Head and Tail are the first and the last 10 KiB. If Skipped is 0, Tail continues Head
	// without a gap.
	Head, Tail []byte
	// Total is how many bytes were printed, and Skipped how many of them are missing between
	// Head and Tail.
	Total, Skipped int64
	// Spill is the file that holds the first Spilled bytes of the output. It is empty when
	// nothing was skipped or no file could be written.
	Spill   string
	Spilled int64
	// Cut says in words why the file is incomplete: a limit, or the disk. Disk: it was not a
	// limit.
	Cut  string
	Disk bool
	// Errors is the last 10 KiB of stderr, if the streams are apart.
	Errors []byte
}

// Text returns the output as one text. A line of its own replaces the skipped part and
// names the file that has it.
func (o Output) Text() string {
	if o.Skipped == 0 {
		return string(o.Head) + string(o.Tail)
	}
	where := "not kept"
	switch {
	case o.Spill != "" && o.Spilled == o.Total:
		where = "whole output in " + o.Spill
	case o.Spill != "":
		where = fmt.Sprintf("first %d bytes of the output in %s", o.Spilled, o.Spill)
	}
	switch {
	case o.Cut == "":
	case o.Spill == "":
		where += ": " + o.Cut
	case o.Spilled < o.Total:
		where += "; the rest was not kept: " + o.Cut
	}
	head, tail := wholeRunes(o.Head, o.Tail)
	cut := o.Total - int64(len(head)) - int64(len(tail))
	return withCut(string(head), cut, ", "+where, "", string(tail))
}

// withCut joins the head and tail of a text by a line that says how much was cut, and by the
// note of an earlier cut. earlierNote recognises that line.
func withCut(head string, cut int64, where, note, tail string) string {
	if head != "" && !strings.HasSuffix(head, "\n") {
		head += "\n"
	}
	return head + fmt.Sprintf("[… %d bytes cut%s …]\n", cut, where) + note + tail
}

// end returns the last part of the output, where programs say why they failed.
func (o Output) end() []byte {
	if o.Skipped > 0 {
		return o.Tail
	}
	all := slices.Concat(o.Head, o.Tail)
	return all[max(0, len(all)-keepBytes):]
}

// wholeRunes drops the bytes of characters that the cut has split.
func wholeRunes(head, tail []byte) ([]byte, []byte) {
	for i := len(head) - 1; i >= 0 && i >= len(head)-utf8.UTFMax; i-- {
		if utf8.RuneStart(head[i]) {
			if !utf8.FullRune(head[i:]) {
				head = head[:i]
			}
			break
		}
	}
	for i := 0; i < len(tail) && i < utf8.UTFMax; i++ {
		if utf8.RuneStart(tail[i]) {
			tail = tail[i:]
			break
		}
	}
	return head, tail
}

// tail keeps the end of a stream.
type tail struct {
	data  []byte
	start int64 // the offset of data[0] in the stream
}

// add appends data. It keeps the last keep bytes, and at most twice as many: it moves them once
// for each keep bytes added, so that the cost of a byte does not depend on the length of the
// stream.
func (t *tail) add(data []byte, keep int) {
	if excess := len(t.data) + len(data) - keep; excess > keep {
		old := min(excess, len(t.data))
		t.drop(old)
		t.start += int64(excess - old)
		data = data[excess-old:]
	}
	t.data = append(t.data, data...)
}

// drop lets the oldest n bytes leave.
func (t *tail) drop(n int) {
	t.start += int64(n)
	t.data = append(t.data[:0], t.data[n:]...)
}

func (t *tail) end() int64 { return t.start + int64(len(t.data)) }

// from returns what is kept from offset on. The result is valid until the next add.
func (t *tail) from(offset int64) []byte { return t.data[max(offset-t.start, 0):] }

// keeper keeps head and tail of the output and counts all of it. Its memory does not
// grow with the output.
type keeper struct {
	head         []byte
	tail, errors tail
	total        int64
	spill        *spill
}

func (k *keeper) add(stream int, data []byte) {
	if k.total+int64(len(data)) > 2*keepBytes && k.spill != nil {
		if k.total <= 2*keepBytes { // all output so far is still in memory
			k.spill.write(k.head)
			k.spill.write(k.tail.data)
		}
		k.spill.write(data)
	}
	k.total += int64(len(data))
	if stream == 2 {
		k.errors.add(data, keepBytes)
	}
	if room := keepBytes - len(k.head); room > 0 {
		n := min(room, len(data))
		k.head = append(k.head, data[:n]...)
		data = data[n:]
	}
	k.tail.add(data, keepBytes)
}

func (k *keeper) output() Output {
	for _, t := range []*tail{&k.tail, &k.errors} {
		t.drop(max(0, len(t.data)-keepBytes))
	}
	o := Output{Head: k.head, Tail: k.tail.data, Total: k.total, Errors: k.errors.data}
	o.Skipped = k.total - int64(len(o.Head)) - int64(len(o.Tail))
	if k.spill != nil {
		o.at(k.spill.close())
	}
	if o.Skipped == 0 {
		o.at("", 0, cut{})
	}
	return o
}

// at records where the output is kept.
func (o *Output) at(path string, length int64, why cut) {
	o.Spill, o.Spilled, o.Cut, o.Disk = path, length, why.why, why.disk
}

// Shown returns what a terminal would finally show of an output, for a reader without a
// terminal. Colours and other sequences are removed, a line that was overwritten (a progress
// bar) keeps its last state, and other control characters become replacement characters.
func Shown(output string) string { return shown(output, false) }

// ShownInTerminal is Shown for what a command printed to a terminal of its own: backspaces have
// their effect, and bells are dropped.
func ShownInTerminal(output string) string { return shown(output, true) }

func shown(output string, terminal bool) string {
	output = strings.ReplaceAll(escapes().ReplaceAllString(strings.ToValidUTF8(output, "\uFFFD"), ""), "\r\n", "\n")
	if strings.IndexFunc(output, odd) < 0 {
		return output
	}
	var b strings.Builder
	for line := range strings.Lines(output) {
		text, end := strings.CutSuffix(line, "\n")
		text = strings.TrimRight(text, "\r")
		if text = text[strings.LastIndexByte(text, '\r')+1:]; terminal {
			text = takenBack(text)
		}
		b.WriteString(strings.Map(func(r rune) rune {
			if odd(r) {
				return '\uFFFD'
			}
			return r
		}, text))
		if end {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// takenBack applies backspaces and drops bells.
func takenBack(line string) string {
	if !strings.ContainsAny(line, "\b\a") {
		return line
	}
	var out []rune
	for _, r := range line {
		switch {
		case r == '\b':
			out = out[:max(len(out)-1, 0)]
		case r != '\a':
			out = append(out, r)
		}
	}
	return string(out)
}

// odd reports a control character that is not part of a text.
func odd(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 }

// escapes matches terminal control sequences: CSI with its parameters and a letter, a string up
// to BEL or ESC \, and the short ones. An unterminated one ends at the end of its line.
var escapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\x1b(?:\[[\x20-\x3f]*[\x40-\x7e]?|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[\x20-\x2f]*[\x30-\x7e]?)`)
})
