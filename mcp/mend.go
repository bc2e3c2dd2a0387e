package mcp

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// unknownKind says what stands in place of content that neither codeagent nor the SDK knows.
const unknownKind = "content of a kind that is not known here"

// readable is the result of a call, of a resource or of a prompt with words in place of the entries of
// its content that the SDK cannot decode, and reports whether there were some. The SDK would give up the
// whole result for one of them, though the tool has done its work.
func readable(result json.RawMessage) (mended json.RawMessage, changed bool) {
	for _, l := range []struct {
		member string
		whole  json.Unmarshaler // what the SDK makes of the result
		mend   func(entry json.RawMessage) any
	}{
		{"content", new(sdk.CallToolResult), mendContent},
		{"contents", new(sdk.ReadResourceResult), mendResource},
		{"messages", new(sdk.GetPromptResult), mendMessage},
	} {
		if !hasMember(result, l.member) || l.whole.UnmarshalJSON(result) == nil {
			continue
		}
		if other := mendList(result, l.member, l.mend); other != nil {
			result, changed = other, true
		}
	}
	return result, changed
}

// mendList is a result with each entry of a list mended, or nil if it has no such list. No more entries
// are kept than are shown.
func mendList(result json.RawMessage, member string, mend func(json.RawMessage) any) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(result, &members) != nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(members[member]))
	if start, err := d.Token(); err != nil || start != json.Delim('[') {
		return nil
	}
	var entries []any
	for d.More() && len(entries) <= maxParts {
		var entry json.RawMessage
		if d.Decode(&entry) != nil {
			return nil
		}
		entries = append(entries, mend(entry))
	}
	list, err := json.Marshal(entries)
	if err != nil {
		return nil
	}
	members[member] = list
	if result, err = json.Marshal(members); err != nil {
		return nil
	}
	return result
}

// mendContent is an entry of the content of a call.
func mendContent(entry json.RawMessage) any {
	if said := wrong(entry); said != "" {
		return &sdk.TextContent{Text: said}
	}
	return entry
}

// mendMessage is a message of a prompt.
func mendMessage(entry json.RawMessage) any {
	if new(sdk.PromptMessage).UnmarshalJSON(entry) == nil {
		return entry
	}
	m := object(entry)
	role := word(m, "role")
	if role == "" {
		role = "user"
	}
	said := wrong(m["content"])
	if said == "" {
		return map[string]any{"role": role, "content": m["content"]}
	}
	return map[string]any{"role": role, "content": &sdk.TextContent{Text: said}}
}

// mendResource is an entry of the contents of a resource.
func mendResource(entry json.RawMessage) any {
	if decodes(`{"type":"resource","resource":`, entry, `}`) {
		return entry
	}
	m := object(entry)
	if m == nil {
		return &sdk.ResourceContents{Text: wrong(entry)}
	}
	return &sdk.ResourceContents{URI: word(m, "uri"), Text: unreadable("resource", m)}
}

// decodes reports whether the SDK can decode entry, between before and after, as content.
func decodes(before string, entry json.RawMessage, after string) bool {
	data := append([]byte(`{"content":[`+before), entry...)
	return new(sdk.CallToolResult).UnmarshalJSON(append(data, after+`]}`...)) == nil
}

// wrong says what stands in place of an entry of content, "" if the entry can be decoded.
func wrong(entry json.RawMessage) string {
	if len(entry) > 0 && decodes("", entry, "") {
		return ""
	}
	m := object(entry)
	if m == nil {
		return "[content that is not an object]"
	}
	switch kind := word(m, "type"); kind {
	case "text", "image", "audio", "resource_link", "tool_use", "tool_result":
		return unreadable(kind, m)
	case "resource":
		resource := object(m["resource"])
		if uri := word(resource, "uri"); uri != "" {
			kind += " " + line(uri, maxTitle)
		}
		return unreadable(kind, resource)
	case "":
		return "[" + unknownKind + "]"
	default:
		return "[" + unknownKind + ": " + line(kind, maxName) + "]"
	}
}

// unreadable says that an entry of a known kind, with the members m, cannot be read; a text in it is kept.
func unreadable(what string, m map[string]json.RawMessage) string {
	if mediaType := word(m, "mimeType"); mediaType != "" {
		what += ", " + line(mediaType, maxName)
	}
	why := "it does not have the form of the protocol"
	for _, name := range []string{"data", "blob"} {
		if _, err := base64.StdEncoding.DecodeString(word(m, name)); err != nil {
			why = "its data is not base64"
		}
	}
	said := "[" + what + ": " + why + "]"
	if words := word(m, "text"); words != "" {
		said += "\n" + words
	}
	return said
}

// object is the members of an object, nil if data is not one.
func object(data json.RawMessage) (members map[string]json.RawMessage) {
	if json.Unmarshal(data, &members) != nil {
		return nil
	}
	return members
}

// word is a member that is a string, "" if it is not one.
func word(members map[string]json.RawMessage, name string) (s string) {
	if json.Unmarshal(members[name], &s) != nil {
		return ""
	}
	return s
}

// mending is an answer over HTTP while it is read, with its results readable. It keeps one message,
// which is as long as the answer, or a line of it, may be.
type mending struct {
	io.ReadCloser
	lines *bufio.Reader // of a stream: a message stands in one line, behind "data:"
	ready []byte
	err   error // after ready
}

// Read is part of io.Reader.
func (m *mending) Read(p []byte) (int, error) {
	for len(m.ready) == 0 {
		if m.err != nil {
			return 0, m.err
		}
		m.fill()
	}
	n := copy(p, m.ready)
	m.ready = m.ready[n:]
	return n, nil
}

// fill reads the answer, or the next line of a stream.
func (m *mending) fill() {
	if m.lines == nil {
		if m.ready, m.err = io.ReadAll(m.ReadCloser); m.err == nil {
			m.err = io.EOF
			if other := readableMessage(m.ready); other != nil {
				m.ready = other
			}
		}
		return
	}
	var data []byte
	for len(data) <= maxLine { // the SDK ends a stream with a longer one
		piece, err := m.lines.ReadSlice('\n')
		data = append(data, piece...)
		if err != bufio.ErrBufferFull {
			m.err = err
			break
		}
	}
	m.ready = data
	if message, is := bytes.CutPrefix(data, []byte("data:")); is {
		if other := readableMessage(message); other != nil {
			m.ready = append(append([]byte("data: "), other...), '\n')
		}
	}
}

// readableMessage is a message with its result readable, nil if it is as readable as before.
func readableMessage(data []byte) []byte {
	if !slices.ContainsFunc([]string{"content", "contents", "messages"}, func(list string) bool { return hasMember(data, list) }) {
		return nil
	}
	m, err := jsonrpc.DecodeMessage(data)
	r, ok := m.(*jsonrpc.Response)
	if err != nil || !ok {
		return nil
	}
	result, changed := readable(r.Result)
	if !changed {
		return nil
	}
	r.Result = result
	if data, err = jsonrpc.EncodeMessage(r); err != nil {
		return nil
	}
	return data
}

// hasMember reports whether a message may have a member: it is asked before anything is decoded.
func hasMember(data []byte, member string) bool { return bytes.Contains(data, []byte(`"`+member+`"`)) }
