package sandbox

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestDenialKeepsBytes: a name that is not text stays distinguishable from the replacement that is
// shown.
func TestDenialKeepsBytes(t *testing.T) {
	for target, want := range map[string]string{"/w/a": "", "/w/ä\n": "", "/w/\xff": "/w/\xff"} {
		data, err := json.Marshal([]Denial{{Target: target, Count: 2}})
		if err != nil {
			t.Fatal(err)
		}
		var got []struct {
			Count       int    `json:"count"`
			TargetBytes []byte `json:"target_bytes"`
		}
		if err := json.Unmarshal(data, &got); err != nil || len(got) != 1 || got[0].Count != 2 || string(got[0].TargetBytes) != want {
			t.Errorf("%q: %s, %v", target, data, err)
		}
		if strings.Contains(string(data), "target_bytes") != (want != "") {
			t.Errorf("%q: %s", target, data)
		}
	}
}
