package session

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"

	"codeagent/model"
)

// Limits of Calls, so that reading takes a few milliseconds.
const (
	mostSessions = 200
	mostRecords  = 1 << 20 // bytes, of all sessions
)

// Calls calls each with the tool calls of the sessions of a folder and the folders below it, or of
// all sessions for "". The latest session comes first, and in it the latest call. Of a result it
// reads only what the agent carries with it. part reports that a limit was reached. Damaged records
// are skipped.
func (s *Store) Calls(folder string, each func(call model.ToolCall, result model.Item)) (part bool) {
	entries, err := s.entries()
	if err != nil {
		return true
	}
	left := int64(mostRecords)
	for i, e := range entries {
		if i == mostSessions || left <= 0 {
			return true
		}
		part = s.callsOf(idOf(e.Name()), folder, &left, each) || part
	}
	return part
}

func (s *Store) callsOf(id, folder string, left *int64, each func(model.ToolCall, model.Item)) (part bool) {
	f, err := s.openFile(id, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer f.Close()
	v, err := look(f)
	if err != nil || folder != "" && v.head.Folder != folder && !strings.HasPrefix(v.head.Folder, strings.TrimSuffix(folder, "/")+"/") {
		return false
	}
	results := map[string]model.Item{}
	for r, err := range v.live() {
		if *left -= r.size; *left < 0 {
			return true
		}
		if err != nil {
			continue
		}
		switch model.Kind(r.kind) {
		case model.Result:
			if bytes.Contains(r.line, []byte(`"carried":`)) {
				var rec struct {
					Item struct {
						CallID  string          `json:"call_id"`
						Carried json.RawMessage `json:"carried"`
					} `json:"item"`
				}
				if json.Unmarshal(r.line, &rec) == nil {
					results[rec.Item.CallID] = model.Item{Kind: model.Result, CallID: rec.Item.CallID, Carried: rec.Item.Carried}
				}
			}
		case model.Call:
			if item := decodeItem(r.line); item != nil && item.Call != nil {
				each(*item.Call, results[item.Call.ID])
			}
		}
	}
	return false
}
