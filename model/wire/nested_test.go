package wire

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// nested is text within n levels.
func nested(open, text, shut string, n int) []byte {
	return []byte(strings.Repeat(open, n) + text + strings.Repeat(shut, n))
}

// TestNestedFaultsCostOnePass: nested errors are not parsed level by level, with a pass over
// the rest for each; 32 MiB in 10000 levels would take hours and block all input.
func TestNestedFaultsCostOnePass(t *testing.T) {
	for name, level := range map[string][2]string{
		"list":     {"[", "]"},
		"error":    {`{"error":`, "}"},
		"message":  {`{"message":`, "}"},
		"response": {`{"type":"response.failed","response":`, "}"},
		"metadata": {`{"metadata":{"raw":`, "}}"},
		"details":  {`{"details":[`, "]}"},
		"errors":   {`{"errors":[`, "]}"},
	} {
		cost := func(levels int) float64 {
			body := nested(level[0], `"`+strings.Repeat("a", maxErrorBody)+`"`, level[1], levels)
			return testing.AllocsPerRun(1, func() { _, _ = readFault(body) })
		}
		// The parser grows its stack of open brackets: that is a few.
		if few, many := cost(20), cost(2000); many > few+500 {
			t.Errorf("%s: %v allocations for 20 levels, %v for 2000", name, few, many)
		}
	}
}

func TestNestedTextCostsOnePass(t *testing.T) {
	cost := func(levels int) float64 {
		body := nested(`[{"text":`, `"a"`, "}]", levels)
		return testing.AllocsPerRun(1, func() {
			if err := json.Unmarshal(body, new(Text)); err != nil {
				t.Error(err)
			}
		})
	}
	if few, many := cost(20), cost(2000); many > few+500 {
		t.Errorf("%v allocations for 20 levels, %v for 2000", few, many)
	}
}

// TestOneLevelOfTextIsRead: the shapes that servers send are read, and an unexpected part does
// not affect the others.
func TestOneLevelOfTextIsRead(t *testing.T) {
	for in, want := range map[string]Text{
		`"a"`:                         "a",
		`null`:                        "",
		`[{"text":"a"},{"text":"b"}]`: "ab",
		`[{"type":"text","text":"a"},{"text":[{"text":"x"}]},{"text":null},7,"c",{"text":"b"}]`: "ab",
		`{"text":"a"}`: "",
	} {
		var got Text
		if err := json.Unmarshal([]byte(in), &got); err != nil || got != want {
			t.Errorf("%s is %q, %v; want %q", in, got, err, want)
		}
	}
}

// TestLargeAnswers: an answer of any size is searched for an error, and none is found in an
// answer without one.
func TestLargeAnswers(t *testing.T) {
	large := `"` + strings.Repeat("a", 2*maxErrorBody) + `"`
	for body, want := range map[string]string{
		`{"choices":[` + large + `],"error":null}`:                                                               "",
		`{"type":"response.completed","response":{"error":null,"instructions":` + large + `}}`:                   "",
		`{"instructions":` + large + `,"error":{"message":"m"}}`:                                                 "m",
		`{"type":"response.failed","response":{"instructions":` + large + `,"error":{"message":"m"}}}`:           "m",
		`{"error":{"message":"m","metadata":{"raw":` + large + `},"details":[` + large + `],"x":` + large + `}}`: "m",
	} {
		f, bad := readFault([]byte(body))
		if bad != (want != "") || f.message != want {
			t.Errorf("%.80s… is %t, %.80q; want %q", body, bad, f.message, want)
		}
	}
	f, _ := readFault([]byte(large))
	if e := classify(400, http.Header{}, f, time.Time{}); len(e.Message) > maxMessage {
		t.Errorf("a message of %d bytes", len(e.Message))
	}
}
