package telemetry

import (
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"codeagent/internal/visible"
)

// The JSON encoding of OTLP: names in lower camel case, 64-bit numbers as strings, IDs in
// hexadecimal digits, enumerations as numbers (opentelemetry.io/docs/specs/otlp).

type attribute struct {
	Key   string         `json:"key"`
	Value map[string]any `json:"value"`
}

// longest bounds the texts of attributes in bytes.
const longest = 1024

// text is an attribute of a text that may be hostile.
func text(key, value string) attribute {
	return attribute{key, map[string]any{"stringValue": shown(value)}}
}

func count(key string, n int) attribute {
	return attribute{key, map[string]any{"intValue": strconv.Itoa(n)}}
}

func yes(key string) attribute { return attribute{key, map[string]any{"boolValue": true}} }

// shown returns one bounded line.
func shown(s string) string {
	cut := len(s) > longest
	if cut {
		s = strings.ToValidUTF8(s[:longest], "") // the last character may be cut
	}
	if s = visible.Line(s); cut {
		s += "…"
	}
	return s
}

func has(list []attribute, key string) bool {
	return slices.ContainsFunc(list, func(a attribute) bool { return a.Key == key })
}

type span struct {
	TraceID    string      `json:"traceId"`
	SpanID     string      `json:"spanId"`
	ParentID   string      `json:"parentSpanId,omitempty"`
	Name       string      `json:"name"`
	Kind       int         `json:"kind"`
	Start      stamp       `json:"startTimeUnixNano"`
	End        stamp       `json:"endTimeUnixNano"`
	Attributes []attribute `json:"attributes,omitempty"`
	Events     []spanEvent `json:"events,omitempty"`
	Status     status      `json:"status"`
}

type spanEvent struct {
	Time       stamp       `json:"timeUnixNano"`
	Name       string      `json:"name"`
	Attributes []attribute `json:"attributes,omitempty"`
}

type status struct {
	Code    int    `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

// Kinds of spans, and the status of a failed one.
const (
	kindInternal = 1
	kindClient   = 3
	statusError  = 2
)

// stamp is a time that is encoded as nanoseconds.
type stamp time.Time

// MarshalJSON implements json.Marshaler.
func (s stamp) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, strconv.FormatInt(time.Time(s).UnixNano(), 10)), nil
}

type scope struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

type resource struct {
	Attributes []attribute `json:"attributes"`
}

type traceRequest struct {
	Spans []resourceSpans `json:"resourceSpans"`
}

type resourceSpans struct {
	Resource resource     `json:"resource"`
	Scopes   []scopeSpans `json:"scopeSpans"`
}

type scopeSpans struct {
	Scope scope   `json:"scope"`
	Spans []*span `json:"spans"`
}

// newID returns n random bytes in hexadecimal digits.
func newID(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
