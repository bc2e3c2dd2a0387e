package mcpcmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"codeagent/internal/short"
	"codeagent/mcp/serve"
)

// inputs are the arguments that each offered tool has, by tool and name.
type inputs map[string]map[string]json.RawMessage

func inputsOf(list []serve.Tool) (inputs, error) {
	out := inputs{}
	for _, t := range list {
		var schema struct{ Properties map[string]json.RawMessage }
		if err := json.Unmarshal(t.Input, &schema); err != nil {
			return nil, fmt.Errorf("bug: the schema of a tool: %w", err)
		}
		out[t.Name] = schema.Properties
	}
	return out, nil
}

// check refuses arguments that the tool does not offer. Some tools know more than is offered.
func (in inputs) check(c serve.Call) error {
	var given map[string]json.RawMessage
	if len(c.Arguments) > 0 && json.Unmarshal(c.Arguments, &given) != nil {
		return errors.New("the arguments must be an object")
	}
	known := in[c.Tool]
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if known[name] == nil {
			return fmt.Errorf("%s has no argument %s; nothing was done. The arguments are %s",
				c.Tool, short.Quote(name, 64), strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
	}
	return nil
}

// texts reads arguments that are all texts; one that is absent or null stays as it is.
func texts(c serve.Call, into map[string]*string) error {
	var given map[string]json.RawMessage
	if len(c.Arguments) > 0 && json.Unmarshal(c.Arguments, &given) != nil {
		return errors.New("the arguments must be an object")
	}
	for _, name := range slices.Sorted(maps.Keys(into)) {
		if value := given[name]; len(value) > 0 && json.Unmarshal(value, into[name]) != nil {
			return fmt.Errorf("the argument %q must be a string, not %s", name, short.Quote(string(value), 64))
		}
	}
	return nil
}
