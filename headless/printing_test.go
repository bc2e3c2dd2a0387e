package headless

import (
	"encoding/json"
	"strings"
	"testing"

	"codeagent/event"
	"codeagent/event/word"
)

// TestOutputOfARunningCall: pieces become lines of their own with whole characters; what is left out
// is counted, and the whole is bounded.
func TestOutputOfARunningCall(t *testing.T) {
	begin := event.ToolStarted{CallID: "c", Kind: word.KindCommand, Command: "make"}
	piece := func(text string, skipped int64) event.Event {
		return event.ToolOutput{CallID: "c", Data: []byte(text), Skipped: skipped}
	}
	type line struct {
		Type string
		Item struct {
			ID, Type, Command, Delta string
			Call                     string `json:"call_id"`
			Skipped                  int64  `json:"skipped_bytes"`
			Stream                   string
		}
	}
	read := func(o Options, events ...event.Event) (out []line) {
		stdout, _ := play(o, append([]event.Event{begin}, events...))
		for raw := range strings.Lines(stdout) {
			validate(t, raw)
			var l line
			if err := json.Unmarshal([]byte(raw), &l); err != nil {
				t.Fatal(err)
			}
			if l.Type == "item.updated" {
				if l.Item.ID != "item_0" || l.Item.Type != "command_execution" || l.Item.Command != "make" || l.Item.Call != "c" {
					t.Errorf("%s", raw)
				}
				out = append(out, l)
			}
		}
		return out
	}
	for name, c := range map[string]struct {
		events []event.Event
		want   []string
		gaps   []int64
	}{
		"pieces":            {[]event.Event{piece("a\n", 0), piece("b\x1b[1m", 0)}, []string{"a\n", "b\x1b[1m"}, []int64{0, 0}},
		"a split character": {[]event.Event{piece("a\xe2\x82", 0), piece("\xac!", 0)}, []string{"a", "€!"}, []int64{0, 0}},
		"only a part":       {[]event.Event{piece("\xe2", 0), piece("\x82", 0), piece("\xac", 0)}, []string{"€"}, []int64{0}},
		"invalid bytes":     {[]event.Event{piece("a\xff\xfeb", 0)}, []string{"a\ufffdb"}, []int64{0}},
		"a gap":             {[]event.Event{piece("a\xe2", 0), piece("z", 7)}, []string{"a", "z"}, []int64{0, 8}},
		"another call":      {[]event.Event{event.ToolOutput{CallID: "d", Data: []byte("x")}}, nil, nil},
	} {
		got := read(Options{JSON: true}, c.events...)
		if len(got) != len(c.want) {
			t.Errorf("%s: %d lines, want %d", name, len(got), len(c.want))
			continue
		}
		for i, l := range got {
			if l.Item.Delta != c.want[i] || l.Item.Skipped != c.gaps[i] {
				t.Errorf("%s: %q after %d bytes, want %q after %d", name, l.Item.Delta, l.Item.Skipped, c.want[i], c.gaps[i])
			}
		}
		if got := read(Options{JSON: true, Plain: true}, c.events...); len(got) > 0 {
			t.Errorf("%s: the SDK gets %+v", name, got)
		}
	}
	of := func(stream, text string) event.Event {
		return event.ToolOutput{CallID: "c", Stream: stream, Data: []byte(text)}
	}
	streams := ""
	for _, l := range read(Options{JSON: true}, of("stdout", "a\xe2"), of("stderr", "b"), of("stdout", "\x82\xac")) {
		streams += l.Item.Stream + "=" + l.Item.Delta + " "
	}
	if streams != "stdout=a stderr=b stdout=€ " {
		t.Errorf("two streams: %q", streams)
	}
	var much []event.Event
	for range 200 {
		much = append(much, piece(strings.Repeat("x", 13<<10), 0))
	}
	total := 0
	for _, l := range read(Options{JSON: true}, much...) {
		total += len(l.Item.Delta)
	}
	if total < deltaBytes || total > deltaBytes+13<<10 {
		t.Errorf("%d bytes of deltas, want about %d", total, deltaBytes)
	}
}
