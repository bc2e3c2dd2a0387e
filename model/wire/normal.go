package wire

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"codeagent/model"
)

// normal passes deltas on. Of a call it gives the name of the tool that is meant, and arguments
// that are JSON, where what the model wrote can mean only one thing.
func normal(tools []model.ToolSpec, yield Yield) Yield {
	return func(d model.Delta) error {
		switch c := d.(type) {
		case model.CallStarted:
			c.Name = meant(tools, c.Name)
			d = c
		case model.CallDone:
			c.Call.Name, c.Call.Arguments = meant(tools, c.Call.Name), escaped(c.Call.Arguments)
			d = c
		}
		return yield(d)
	}
}

// meant returns the name of the only tool that name can mean: in another spelling (Shell,
// ReadFile), after a namespace (functions.shell), before a control token (shell<|channel|>…).
// Otherwise it returns name.
func meant(tools []model.ToolSpec, name string) string {
	spelled, _, _ := strings.Cut(name, "<|")
	last := spelled[strings.LastIndexAny(spelled, ".:/")+1:]
	found := ""
	for _, t := range tools {
		if t.Name == name {
			return name
		}
		if f := folded(t.Name); f == folded(spelled) || f == folded(last) {
			if found != "" {
				return name
			}
			found = t.Name
		}
	}
	return cmp.Or(found, name)
}

func folded(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
}

// escaped returns arguments with escapes for the control characters in strings, which JSON does
// not allow there, if they are JSON then.
func escaped(arguments string) string {
	if json.Valid([]byte(arguments)) {
		return arguments
	}
	var b strings.Builder
	quoted, escape := false, false
	for i := range len(arguments) {
		switch c := arguments[i]; {
		case quoted && c < ' ':
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteByte(c)
			quoted = quoted != (c == '"' && !escape)
			escape = quoted && c == '\\' && !escape
		}
	}
	if text := b.String(); json.Valid([]byte(text)) {
		return text
	}
	return arguments
}
