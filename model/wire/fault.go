package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"codeagent/internal/short"
)

// fault is a provider's error in any of its shapes.
type fault struct {
	message string
	codes   []string      // type, code and status fields, lower case
	status  int           // a code that is an HTTP status, or 0
	retry   time.Duration // a wait named in the text, or 0
	failed  bool          // a response.failed, which is always an error
	page    bool          // the message comes from a web page
}

// readFault parses the error bodies of all known servers:
//
//	{"error":{"message","type","code"}}      OpenAI, and most
//	{"error":"text"}                         Ollama
//	{"type":"error","error":{…}}             Anthropic
//	[{"error":{"code":429,"status":"…"}}]    Gemini
//	{"error":{…,"metadata":{"raw":"…"}}}     OpenRouter
//	{"message","type","code"}                vLLM, Mistral
//	{"detail":"text"}                        FastAPI
//	{"detail":[{"loc":["body","x"],"msg"}]}  FastAPI, Mistral
//	{"type":"response.failed","response":{"error":{…}}}  Responses
//	<html>…<title>…                          proxies
//	text
//
// It returns false when body is a JSON object that reports no error. No server nests these
// further, and deeper nesting is not followed: each level would be a pass over all that is
// left. An object of any size is searched for an error, since a good answer is passed here
// too. A list above maxErrorBody is not parsed, and pages are cut to that size.
func readFault(body []byte) (fault, bool) {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, bom))
	if len(body) == 0 {
		return fault{}, true
	}
	switch body[0] {
	case '<':
		return fault{message: pageText(string(body)), page: true}, true
	case '[':
		var list []json.RawMessage
		if len(body) <= maxErrorBody && json.Unmarshal(body, &list) == nil && len(list) > 0 && list[0][0] == '{' {
			return readFault(list[0])
		}
	case '{':
		var m members
		if json.Unmarshal(body, &m) == nil {
			return m.fault()
		}
	case '"':
		var s string
		if json.Unmarshal(body, &s) == nil {
			return fault{message: s}, true
		}
	}
	return fault{message: string(body)}, true
}

// members are the used members of an object; it may have others.
type members struct {
	Error    json.RawMessage `json:"error"`
	Choices  json.RawMessage `json:"choices"`
	Response json.RawMessage `json:"response"`

	Message          json.RawMessage `json:"message"`
	Detail           json.RawMessage `json:"detail"`
	Msg              json.RawMessage `json:"msg"`
	ErrorMessage     json.RawMessage `json:"error_message"`
	ErrorDescription json.RawMessage `json:"error_description"`
	Errors           json.RawMessage `json:"errors"`
	Title            json.RawMessage `json:"title"`
	Text             json.RawMessage `json:"text"`
	Loc              []any           `json:"loc"`

	Code      json.RawMessage `json:"code"`
	Type      json.RawMessage `json:"type"`
	Status    json.RawMessage `json:"status"`
	ErrorType json.RawMessage `json:"error_type"`

	Metadata json.RawMessage `json:"metadata"`
	Details  json.RawMessage `json:"details"`
}

// fault returns the error of an answer or an event; false without one.
func (m *members) fault() (fault, bool) {
	if !falsy(m.Error) {
		f := fault{}
		f.readError(m.Error)
		f.read(m) // codes beside the error
		return f, true
	}
	if m.Choices != nil {
		return fault{}, false
	}
	if words(m.Type, 0) == "response.failed" {
		var answer members
		if json.Unmarshal(m.Response, &answer) != nil || falsy(answer.Error) {
			return fault{}, false
		}
		f := fault{failed: true}
		f.readError(answer.Error)
		return f, true
	}
	f := fault{}
	f.read(m)
	return f, f.message != ""
}

// readError parses an "error": an object, or a text.
func (f *fault) readError(raw json.RawMessage) {
	var inner members
	if json.Unmarshal(raw, &inner) == nil {
		f.read(&inner)
	} else {
		f.message = words(raw, 0)
	}
}

// read adds what an error object says; known values stay.
func (f *fault) read(m *members) {
	for _, raw := range [...]json.RawMessage{m.Message, m.Detail, m.Msg, m.ErrorMessage, m.ErrorDescription, m.Errors, m.Title} {
		if f.message == "" {
			f.message = words(raw, 0)
		}
	}
	for _, raw := range [...]json.RawMessage{m.Code, m.Type, m.Status, m.ErrorType} {
		code := strings.ToLower(words(raw, 0))
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
	f.readRaw(m.Metadata)
	var details []struct {
		RetryDelay string `json:"retryDelay"` // google.rpc.RetryInfo: "34s"
	}
	if len(m.Details) <= maxErrorBody && json.Unmarshal(m.Details, &details) == nil {
		for _, d := range details {
			if seconds, ok := strings.CutSuffix(d.RetryDelay, "s"); ok {
				f.retry = max(f.retry, waitOf(seconds, time.Second))
			}
		}
	}
}

// readRaw parses an error that a gateway passes on as a string. The size limit bounds the
// nesting: each level escapes the quotes once more.
func (f *fault) readRaw(metadata json.RawMessage) {
	var meta struct {
		Raw json.RawMessage `json:"raw"`
	}
	if len(metadata) > maxErrorBody || json.Unmarshal(metadata, &meta) != nil || len(meta.Raw) == 0 || meta.Raw[0] != '"' {
		return
	}
	if inner, ok := readFault([]byte(words(meta.Raw, 0))); ok && inner.message != "" {
		f.message = strings.TrimSpace(f.message + ": " + inner.message)
		f.codes = append(f.codes, inner.codes...)
	}
}

func falsy(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", "false", `""`, "{}":
		return true
	}
	return false
}

// words returns the text in a JSON value: strings and numbers as they are, and of lists and
// objects the members that hold text.
func words(raw json.RawMessage, depth int) string {
	if falsy(raw) || depth > 4 || raw[0] != '"' && len(raw) > maxErrorBody {
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
		var m members
		_ = json.Unmarshal(raw, &m)
		for _, member := range [...]json.RawMessage{m.Message, m.Msg, m.Detail, m.Error, m.Text} {
			if t := words(member, depth+1); t != "" {
				return m.where() + t
			}
		}
		return string(raw)
	case 't', 'f', 'n':
		return ""
	}
	return string(raw)
}

// where names the field that a message is about: "body.messages.2.id: ".
func (m *members) where() string {
	if len(m.Loc) == 0 || len(m.Loc) > 16 {
		return ""
	}
	at := fmt.Sprintln(m.Loc...)
	return strings.Join(strings.Fields(at), ".") + ": "
}

var (
	pageTitle = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`) })
	pageNoise = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?is)<(script|style)\b.*?</(script|style)>|<!--.*?-->|<[^>]*>`)
	})
)

// pageText returns the title of a web page, or its text.
func pageText(page string) string {
	text := ""
	if m := pageTitle().FindStringSubmatch(page); m != nil {
		text = m[1]
	}
	if strings.TrimSpace(text) == "" {
		text = pageNoise().ReplaceAllString(page, " ")
	}
	return "a web page: " + strings.Join(strings.Fields(html.UnescapeString(text)), " ")
}

// shortened returns the beginning of what pageText returns.
func shortened(page string) string { return short.Bound(page, len("a web page: ")+200) }

// tryAgain matches the wait that OpenAI and others write into the message.
var tryAgain = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:try again|retry) (?:in|after) ((?:\d+h)?(?:\d+m)?\d+(?:\.\d+)?(?:ms|s|m|h| ?seconds?| ?minutes?))`)
})

func waitInText(message string) time.Duration {
	m := tryAgain().FindStringSubmatch(message)
	if m == nil {
		return 0
	}
	text := strings.ToLower(strings.ReplaceAll(m[1], " ", ""))
	for _, unit := range []string{"seconds", "second"} {
		text = strings.Replace(text, unit, "s", 1)
	}
	for _, unit := range []string{"minutes", "minute"} {
		text = strings.Replace(text, unit, "m", 1)
	}
	wait, err := time.ParseDuration(text)
	if err != nil { // only a number that is too large fails here
		return maxWait
	}
	return wait
}
