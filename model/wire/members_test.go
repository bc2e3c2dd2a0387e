package wire

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"codeagent/model"
)

// An endless list is refused before it is decoded; a long text is not refused, whatever it
// contains.
func TestEventsOfManyMembers(t *testing.T) {
	many := strings.Repeat("{},", 2*maxEventMembers)
	for name, c := range map[string]struct {
		json string
		over bool
	}{
		"choices":           {`{"choices":[` + many + `{}]}`, true},
		"numbers":           {`{"choices":[` + strings.Repeat("1,", 2*maxEventMembers) + `1]}`, true},
		"behind a text":     {`{"id":"\\\"","choices":[` + many + `{}]}`, true},
		"a text":            {`{"choices":[{"delta":{"content":"` + many + `\",` + many + `"}}]}`, false},
		"as many as may be": {`{"choices":[` + strings.Repeat("{},", maxEventMembers) + `{}]}`, false},
	} {
		for shape, sent := range map[string]string{"event": "data: " + c.json + "\n\ndata: [DONE]\n\n", "body": c.json} {
			_, err := body(t, &transport{Base: answers(200, http.Header{}, strings.NewReader(sent))})
			e := new(model.Error)
			if over := errors.As(err, &e) && strings.Contains(e.Message, "more than 100000 members"); over != c.over || !over && err != nil {
				t.Errorf("%s as %s: %v", name, shape, err)
			}
		}
	}
}
