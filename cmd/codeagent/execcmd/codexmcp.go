package execcmd

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// server translates a setting of an MCP server of Codex that needs more than another name. A server
// runs in the sandbox that codeagent's own have by default: Codex confines none.
func (d *dialect) server(name, key string, v any) bool {
	ours := "mcp.servers." + name + "."
	text, isText := v.(string)
	switch {
	case key == "bearer_token_env_var" && isText:
		d.settings = append(d.settings, ours+"headers.Authorization="+inTOML("Bearer $"+text))
	case strings.HasPrefix(key, "env_http_headers.") && isText:
		d.settings = append(d.settings, ours+"headers."+strings.TrimPrefix(key, "env_http_headers.")+"="+inTOML("$"+text))
	case key == "startup_timeout_sec", key == "tool_timeout_sec":
		return d.seconds(ours+strings.TrimSuffix(key, "ec"), v)
	default:
		return false
	}
	return true
}

// seconds sets a time that Codex may give as a fraction; codeagent takes whole seconds.
func (d *dialect) seconds(key string, v any) bool {
	n, ok := v.(float64)
	if whole, is := v.(int64); is {
		n, ok = float64(whole), true
	}
	if !ok || !(n > 0 && n < 1<<31) {
		return false
	}
	d.set(key, int64(math.Ceil(n)))
	return true
}

// literally returns a value of Codex for the setting ours, which takes $NAME as a variable. The value
// of a header may be a key, and codeagent takes keys from variables only: it gets one of its own, which
// no command sees.
func (d *dialect) literally(ours string, v any) any {
	switch v := v.(type) {
	case string:
		switch {
		case strings.HasSuffix(ours, ".headers"):
			name := fmt.Sprintf("CODEX_HEADER_TOKEN_%d", len(d.environ)+1)
			d.environ = append(d.environ, name+"="+v)
			return "$" + name
		case strings.HasPrefix(ours, "mcp.servers.NAME.env"), strings.HasSuffix(ours, ".url"):
			return strings.ReplaceAll(v, "$", "$$")
		}
	case map[string]any:
		out := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out[name] = d.literally(ours, v[name])
		}
		return out
	}
	return v
}
