package hooks

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"codeagent/internal/short"
)

// claudeTimeout is what Claude Code gives a hook without a timeout.
const claudeTimeout = time.Minute

// claudeEvents names the events as Claude Code does.
var claudeEvents = map[Event]string{
	SessionStart: "SessionStart", Prompt: "UserPromptSubmit", BeforeTool: "PreToolUse", AfterTool: "PostToolUse", Question: "PermissionRequest", TurnEnd: "Stop",
}

// eventOf returns the event that Claude Code calls name.
func eventOf(name string) (e Event, ok bool) {
	for e, known := range claudeEvents {
		if known == name {
			return e, true
		}
	}
	return "", false
}

// Claude reads the hooks of a settings.json of Claude Code. said has a sentence for each that is left
// out or runs more often than it says.
func Claude(file string, data []byte) (list []Hook, said []string, err error) {
	leave := func(place string, why any) {
		said = append(said, fmt.Sprintf("a hook is left out: %s: %v", place, why))
	}
	var settings struct {
		Off   bool                       `json:"disableAllHooks"`
		Hooks map[string]json.RawMessage `json:"hooks"`
	}
	if err := json.Unmarshal(data, &settings); err != nil {
		return nil, nil, fmt.Errorf("%s: %s", file, inWords(err))
	}
	if settings.Off {
		return nil, nil, nil
	}
	for _, name := range slices.Sorted(maps.Keys(settings.Hooks)) {
		place := file + " " + short.Cut(name, 40)
		event, ok := eventOf(name)
		if !ok {
			leave(place, "codeagent has no such event")
			continue
		}
		var groups []json.RawMessage
		if err := json.Unmarshal(settings.Hooks[name], &groups); err != nil {
			leave(place, inWords(err))
			continue
		}
		for _, group := range groups {
			var g struct {
				Matcher string            `json:"matcher"`
				Hooks   []json.RawMessage `json:"hooks"`
			}
			if err := json.Unmarshal(group, &g); err != nil {
				leave(place, inWords(err))
				continue
			}
			for _, raw := range g.Hooks {
				h, err := claudeHook(raw)
				h.Event, h.Place, h.Match = event, place, g.Matcher
				if err == nil {
					h, err = h.Compile()
				}
				var bad badMatch
				if errors.As(err, &bad) && bad.elsewhere() {
					// It may be there to deny: better at too many calls than at none.
					said = append(said, fmt.Sprintf("a hook runs at every tool call: %s: codeagent cannot follow the regular expression %s", place, short.Quote(h.Match, 60)))
					h.Match = ""
					h, err = h.Compile()
				}
				if err != nil {
					leave(place, inWords(err))
					continue
				}
				list = append(list, h)
			}
		}
	}
	return list, said, nil
}

// claudeHook reads one entry. A field that narrows when it runs is not ignored.
func claudeHook(raw json.RawMessage) (Hook, error) {
	var entry struct {
		Type    string          `json:"type"`
		Command string          `json:"command"`
		Timeout float64         `json:"timeout"`
		If      json.RawMessage `json:"if"`
	}
	if err := json.Unmarshal(raw, &entry); err != nil {
		return Hook{}, err
	}
	switch {
	case entry.Type != "command":
		return Hook{}, fmt.Errorf("a hook of the type %s, and only commands are run", short.Quote(entry.Type, 40))
	case len(entry.If) > 0:
		return Hook{}, errors.New(`its condition "if" is not understood`)
	}
	timeout := claudeTimeout
	if entry.Timeout > 0 {
		timeout = time.Duration(min(entry.Timeout, MaxTimeout.Seconds()) * float64(time.Second))
	}
	return Hook{Command: entry.Command, Timeout: timeout, Claude: true}, nil
}

// inWords says what is wrong with JSON without names of Go's.
func inWords(err error) string {
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &kind):
		what := "it"
		if kind.Field != "" {
			what = kind.Field
		}
		return what + " cannot be a JSON " + kind.Value
	case errors.As(err, &syntax):
		return "not valid JSON: " + err.Error()
	}
	return err.Error()
}

// Variables are what a hook finds in its environment beside those of any command.
func Variables(folder string) map[string]string {
	return map[string]string{"CLAUDE_PROJECT_DIR": folder, "CODEAGENT_FOLDER": strings.TrimSuffix(folder, "/")}
}
