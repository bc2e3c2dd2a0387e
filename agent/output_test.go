package agent

import (
	"testing"

	"codeagent/event"
)

func TestASecondRunGoesOnCounting(t *testing.T) {
	var out []event.ToolOutput
	o := output{emit: func(e event.Event) { out = append(out, e.(event.ToolOutput)) }}
	for _, text := range []string{"first", "second"} {
		o.base = o.end
		o.sink(0, []byte(text))
	}
	if len(out) != 2 || out[1].Offset != 5 || out[1].Skipped != 0 || string(out[1].Data) != "second" {
		t.Errorf("%+v", out)
	}
	o.sink(9, []byte("later"))
	if out[2].Offset != 14 || out[2].Skipped != 3 {
		t.Errorf("a gap: %+v", out[2])
	}
}
