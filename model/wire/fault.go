package wire

import (
	"bytes"
	"encoding/json"
	"html"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// fault is what a provider's error text says, whichever shape it came in.
type fault struct {
	message string
	codes   []string      // type, code and status fields, lower case
	status  int           // a code that is an HTTP status; 0 without
	retry   time.Duration // a wait named in the text; 0 without
	failed  bool          // a response.failed, which is nothing but an error
}

// readFault understands the error bodies of the servers that speak this wire:
//
//	{"error":{"message","type","code"}}      OpenAI, and most
//	{"error":"text"}                         Ollama
//	{"type":"error","error":{…}}             Anthropic
//	[{"error":{"code":429,"status":"…"}}]    Gemini
//	{"error":{…,"metadata":{"raw":"…"}}}     OpenRouter
//	{"message","type","code"}                vLLM, Mistral
//	{"detail":"text"}, {"detail":[{"msg"}]}  FastAPI
//	{"type":"response.failed","response":{"error":{…}}}  Responses
//	<html>…<title>…                          proxies
//	text
//
// false when body is a JSON object that reports no error.
func readFault(body []byte) (fault, bool) {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, bom))
	if len(body) == 0 {
		return fault{}, true
	}
	switch body[0] {
	case '<':
		return fault{message: pageText(string(body))}, true
	case '[':
		var list []json.RawMessage
		if json.Unmarshal(body, &list) == nil && len(list) > 0 {
			return readFault(list[0])
		}
	case '{':
		var fields map[string]json.RawMessage
		if json.Unmarshal(body, &fields) == nil {
			return objectFault(fields)
		}
	case '"':
		var s string
		if json.Unmarshal(body, &s) == nil {
			return fault{message: s}, true
		}
	}
	return fault{message: string(body)}, true
}

func objectFault(fields map[string]json.RawMessage) (fault, bool) {
	if raw, ok := fields["error"]; ok && !falsy(raw) {
		f := fault{}
		var inner map[string]json.RawMessage
		if json.Unmarshal(raw, &inner) == nil {
			f.read(inner)
		} else {
			f.message = words(raw, 0)
		}
		delete(fields, "error")
		f.read(fields) // codes that stand beside it
		return f, true
	}
	if _, ok := fields["choices"]; ok {
		return fault{}, false
	}
	if words(fields["type"], 0) == "response.failed" {
		return failedFault(fields["response"])
	}
	f := fault{}
	f.read(fields)
	return f, f.message != ""
}

// failedFault reads the error of an answer that failed; false without one.
func failedFault(response json.RawMessage) (fault, bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(response, &fields) != nil || falsy(fields["error"]) {
		return fault{}, false
	}
	f, bad := objectFault(map[string]json.RawMessage{"error": fields["error"]})
	f.failed = bad
	return f, bad
}

// read takes what an error object says; what is known already stays.
func (f *fault) read(fields map[string]json.RawMessage) {
	for _, name := range []string{"message", "detail", "msg", "error_message", "error_description", "errors", "title"} {
		if f.message == "" {
			f.message = words(fields[name], 0)
		}
	}
	for _, name := range []string{"code", "type", "status", "error_type"} {
		code := strings.ToLower(words(fields[name], 0))
		if n, err := strconv.ParseFloat(code, 64); err == nil {
			if n >= 400 && n < 600 && f.status == 0 {
				f.status = int(n)
			}
			if n == math.Trunc(n) {
				code = strconv.Itoa(int(n))
			}
		}
		if code != "" && len(code) < 100 {
			f.codes = append(f.codes, code)
		}
	}
	var meta struct {
		Raw  any    `json:"raw"`
		Name string `json:"provider_name"`
	}
	if json.Unmarshal(fields["metadata"], &meta) == nil {
		if raw, ok := meta.Raw.(string); ok && raw != "" {
			if inner, ok := readFault([]byte(raw)); ok {
				f.message = strings.TrimSpace(f.message + ": " + inner.message)
				f.codes = append(f.codes, inner.codes...)
			}
		}
	}
	var details []struct {
		RetryDelay string `json:"retryDelay"` // google.rpc.RetryInfo: "34s"
	}
	if json.Unmarshal(fields["details"], &details) == nil {
		for _, d := range details {
			if wait, err := time.ParseDuration(d.RetryDelay); err == nil && wait > 0 {
				f.retry = wait
			}
		}
	}
}

func falsy(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", "false", `""`, "{}":
		return true
	}
	return false
}

// words is the text in a JSON value: strings and numbers as they are, of lists
// and objects the members that hold the text.
func words(raw json.RawMessage, depth int) string {
	if falsy(raw) || depth > 4 {
		return ""
	}
	switch raw[0] {
	case '"':
		var s string
		_ = json.Unmarshal(raw, &s)
		return s
	case '[':
		var list []json.RawMessage
		_ = json.Unmarshal(raw, &list)
		var texts []string
		for _, item := range list[:min(len(list), 8)] {
			if t := words(item, depth+1); t != "" {
				texts = append(texts, t)
			}
		}
		return strings.Join(texts, "; ")
	case '{':
		var fields map[string]json.RawMessage
		_ = json.Unmarshal(raw, &fields)
		for _, name := range []string{"message", "msg", "detail", "error", "text"} {
			if t := words(fields[name], depth+1); t != "" {
				return t
			}
		}
		return string(raw)
	case 't', 'f', 'n':
		return ""
	}
	return string(raw)
}

var (
	pageTitle = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)
	pageNoise = regexp.MustCompile(`(?is)<(script|style)\b.*?</(script|style)>|<!--.*?-->|<[^>]*>`)
)

// pageText is the title of a web page, or the beginning of its text.
func pageText(page string) string {
	text := ""
	if m := pageTitle.FindStringSubmatch(page); m != nil {
		text = m[1]
	}
	if strings.TrimSpace(text) == "" {
		text = pageNoise.ReplaceAllString(page, " ")
	}
	return "a web page: " + cut(strings.Join(strings.Fields(html.UnescapeString(text)), " "), 200)
}

// tryAgain finds the wait that OpenAI and others write into the message.
var tryAgain = regexp.MustCompile(`(?i)(?:try again|retry) (?:in|after) ((?:\d+h)?(?:\d+m)?\d+(?:\.\d+)?(?:ms|s|m|h| ?seconds?| ?minutes?))`)

func waitInText(message string) time.Duration {
	m := tryAgain.FindStringSubmatch(message)
	if m == nil {
		return 0
	}
	text := strings.ReplaceAll(m[1], " ", "")
	for _, unit := range []string{"seconds", "second"} {
		text = strings.Replace(text, unit, "s", 1)
	}
	for _, unit := range []string{"minutes", "minute"} {
		text = strings.Replace(text, unit, "m", 1)
	}
	wait, err := time.ParseDuration(text)
	if err != nil || wait < 0 {
		return 0
	}
	return wait
}
