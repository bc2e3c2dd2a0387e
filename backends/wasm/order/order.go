// Package order is what codeagent asks the side program to do with one module.
package order

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"codeagent/sandbox"
)

// Order is about one module.
type Order struct {
	// Module is the canonical path of the module, Sum the SHA-256 in hex of what codeagent saw there.
	Module string `json:"module"`
	Sum    string `json:"sum"`
	// Cache is the folder of what was compiled of this module alone.
	Cache string `json:"cache"`
	// Compile: the module is compiled into Cache and does not run.
	Compile bool `json:"compile,omitempty"`
	// Policy is the JSON of the policy of a run.
	Policy json.RawMessage `json:"policy,omitempty"`
}

// piece is less than the longest argument that Linux takes, 128 KiB.
const piece = 100 << 10

// Args returns o as arguments, which end with "--".
func (o Order) Args() ([]string, error) {
	if !utf8.ValidString(o.Module + o.Cache) {
		return nil, fmt.Errorf("path of the module %q: is not valid UTF-8", o.Module)
	}
	data, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	var args []string
	for part := range slices.Chunk(data, piece) {
		args = append(args, string(part))
	}
	return append(args, "--"), nil
}

// Parse is the reverse of Args. rest is what comes after "--".
func Parse(args []string) (o Order, policy sandbox.Policy, rest []string, err error) {
	end := slices.Index(args, "--")
	if end < 0 {
		return o, policy, nil, errors.New("there is no --")
	}
	var data bytes.Buffer
	for _, part := range args[:end] {
		data.WriteString(part)
	}
	dec := json.NewDecoder(&data)
	dec.DisallowUnknownFields()
	if err = dec.Decode(&o); err == nil && !o.Compile {
		policy, err = sandbox.DecodePolicy(o.Policy)
	}
	return o, policy, args[end+1:], err
}
