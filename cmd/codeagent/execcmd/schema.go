package execcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"codeagent/agent"
	"codeagent/cmd/codeagent/cli"
	"codeagent/hostfile"
	"codeagent/internal/short"

	"github.com/google/jsonschema-go/jsonschema"
)

// Bounds of a schema, and of the check of one answer: a schema can make that exponential.
const (
	schemaBytes = 256 << 10
	schemaDepth = 64
	checkTime   = 10 * time.Second
)

// readSchema reads the file of --output-schema; "" has none. The warnings say what of it is not
// checked.
func readSchema(ctx context.Context, g hostfile.Ground, path string) (s *agent.Schema, warnings []string, err error) {
	if path == "" {
		return nil, nil, nil
	}
	name, err := filepath.Abs(path)
	if err == nil {
		name, err = g.Resolve("/", name)
	}
	var data []byte
	if err == nil {
		data, err = hostfile.Read(ctx, name, schemaBytes)
	}
	if err == nil {
		s, warnings, err = newSchema(data)
	}
	if err != nil && ctx.Err() == nil {
		err = cli.Usage(fmt.Errorf("--output-schema %s: %w", path, err))
	}
	return s, warnings, err
}

// newSchema parses and checks a schema.
func newSchema(data []byte) (*agent.Schema, []string, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // editors of Windows write one
	var tree map[string]any
	if err := json.Unmarshal(data, &tree); err != nil || tree == nil {
		return nil, nil, fmt.Errorf("a schema is a JSON object: %v", err)
	}
	refs := references{root: tree, state: map[string]int{}}
	if err := refs.check("", tree, 0); err != nil {
		return nil, nil, err
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(data, &schema); err != nil {
		return nil, nil, fmt.Errorf("not a JSON Schema: %s", short.Cut(err.Error(), 300))
	}
	foreign, err := words(&schema)
	if err != nil {
		return nil, nil, fmt.Errorf("not a JSON Schema: %w", err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, nil, fmt.Errorf("not a JSON Schema: %s", short.Cut(err.Error(), 300))
	}
	var warnings []string
	if len(foreign) > 0 {
		warnings = []string{"codeagent does not check this pattern of the schema, because its regular expressions have no such form: " + short.Quote(strings.Join(foreign, ", "), 100)}
	}
	var small bytes.Buffer
	if err := json.Compact(&small, data); err != nil {
		return nil, nil, err
	}
	return &agent.Schema{JSON: small.Bytes(), Check: func(ctx context.Context, answer string) error {
		return fits(ctx, resolved, answer)
	}}, warnings, nil
}

// fits reports whether an answer fits a schema.
func fits(ctx context.Context, schema *jsonschema.Resolved, answer string) error {
	var v any
	if err := json.Unmarshal([]byte(answer), &v); err != nil {
		return fmt.Errorf("it is not one JSON value: %w", err)
	}
	ctx, end := context.WithTimeoutCause(ctx, checkTime, errors.New("the check took too long"))
	defer end()
	_, err := hostfile.Within(ctx, func() (any, error) { return nil, schema.Validate(v) })
	return err
}

// references checks what the validator does not survive: nesting without end, references that
// lead back to themselves while they look at the same value, and references out of the file.
type references struct {
	root  map[string]any
	state map[string]int // of a schema, by its JSON pointer: 1 is being followed, 2 is known to end
}

// check checks the schema at a pointer and all that is in it.
func (r *references) check(at string, node any, depth int) error {
	if depth > schemaDepth {
		return fmt.Errorf("nested more than %d deep", schemaDepth)
	}
	switch node := node.(type) {
	case map[string]any:
		for _, key := range []string{"$dynamicRef", "$recursiveRef"} {
			if _, used := node[key].(string); used {
				return fmt.Errorf("%s is not supported: use $ref with #/$defs/NAME", key)
			}
		}
		if _, moved := node["$id"].(string); moved && at != "" {
			return errors.New("$id is supported only at the top")
		}
		if err := r.follow(at, node); err != nil {
			return err
		}
		for key, child := range node {
			if err := r.check(at+"/"+pointer.Replace(key), child, depth+1); err != nil {
				return err
			}
		}
	case []any:
		for i, child := range node {
			if err := r.check(at+"/"+strconv.Itoa(i), child, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

var pointer = strings.NewReplacer("~", "~0", "/", "~1")

// inPlace are the keys of schemas for the same value: one schema, a list of them, or a table.
var inPlace = []string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"}

// follow follows the schemas that apply to the same value as the one at a pointer.
func (r *references) follow(at string, node any) error {
	m, ok := node.(map[string]any)
	if !ok {
		return nil
	}
	switch r.state[at] {
	case 1:
		return fmt.Errorf("the reference to #%s leads back to itself", short.Cut(at, 100))
	case 2:
		return nil
	}
	r.state[at] = 1
	for _, key := range inPlace {
		if err := r.followAll(at+"/"+key, m[key]); err != nil {
			return err
		}
	}
	if ref, ok := m["$ref"].(string); ok {
		to, target, err := r.find(ref)
		if err == nil {
			err = r.follow(to, target)
		}
		if err != nil {
			return err
		}
	}
	r.state[at] = 2
	return nil
}

// followAll follows a schema, or those in a list or a table.
func (r *references) followAll(at string, node any) error {
	if err := r.follow(at, node); err != nil {
		return err
	}
	switch node := node.(type) {
	case []any:
		for i, child := range node {
			if err := r.follow(at+"/"+strconv.Itoa(i), child); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, child := range node {
			if err := r.follow(at+"/"+pointer.Replace(key), child); err != nil {
				return err
			}
		}
	}
	return nil
}

// find returns what a $ref refers to, with its pointer.
func (r *references) find(ref string) (at string, node any, err error) {
	bad := fmt.Errorf("$ref %s: use # or #/$defs/NAME", short.Quote(ref, 100))
	at, ok := strings.CutPrefix(ref, "#")
	if at, err = url.PathUnescape(at); err != nil || !ok || at != "" && at[0] != '/' {
		return "", nil, bad
	}
	node = r.root
	for part := range strings.SplitSeq(strings.TrimPrefix(at, "/"), "/") {
		if at == "" {
			break
		}
		key := strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch n := node.(type) {
		case map[string]any:
			node = n[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(n) || strconv.Itoa(i) != key {
				return "", nil, bad
			}
			node = n[i]
		default:
			return "", nil, bad
		}
	}
	if node == nil {
		return "", nil, bad
	}
	return at, node, nil
}
