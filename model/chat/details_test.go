package chat

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"codeagent/model"
)

// The memory for joining pieces of thinking grows linearly.
func TestPiecesOfThinking(t *testing.T) {
	allocated := func(n int) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var d details
		for range n {
			d.add([]detail{{"type": json.RawMessage(`"reasoning.text"`), "index": json.RawMessage("0"), "text": json.RawMessage(`"word "`)}})
		}
		all := d.take()
		runtime.ReadMemStats(&after)
		if len(all) != 1 || len(all[0]["text"]) != n*len("word ")+2 {
			t.Fatalf("%d blocks", len(all))
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	if few, many := allocated(1000), allocated(8000); many > 20*few {
		t.Errorf("1,000 pieces allocate %d bytes, 8,000 of them %d", few, many)
	}
}

// A piece replaces a value that is not a text, and null adds nothing to a text.
func TestOddPiecesOfThinking(t *testing.T) {
	var d details
	for _, p := range []string{`{"text":"a\u00fc","data":{"x":1}}`, `{"text":null,"data":"b","summary":"s"}`, `{"text":"c","summary":7,"format":"f"}`, `{"index":1,"text":"\u00fc"}`} {
		var one detail
		if err := json.Unmarshal([]byte(p), &one); err != nil {
			t.Fatal(err)
		}
		d.add([]detail{one, nil})
	}
	got, err := json.Marshal(d.take())
	if want := `[{"data":"b","format":"f","summary":7,"text":"a\u00fcc"},{"index":1,"text":"\u00fc"}]`; err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	if d.blocks != nil {
		t.Error(fmt.Sprint(d.blocks), "is left")
	}
}

// Endless blocks end the answer.
func TestThinkingWithoutEnd(t *testing.T) {
	d := newDecoder(&attempt{Source: "s", Yield: func(model.Delta) error { return nil }})
	event := []byte(`{"choices":[{"index":0,"delta":{"reasoning_details":[{"type":"reasoning.text","text":"` + strings.Repeat("x", 1<<20) + `"}]}}]}`)
	var err error
	for n := 0; err == nil && n < 100; n++ {
		err = d.Event(event)
	}
	if err == nil || !strings.Contains(err.Error(), "larger than 64 MiB") {
		t.Errorf("%v", err)
	}
}
