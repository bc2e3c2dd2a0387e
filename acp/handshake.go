package acp

import (
	"context"
	"encoding/json"
	"path"
	"strings"

	"codeagent/internal/jsonrpc"
	"codeagent/internal/short"

	sdk "github.com/coder/acp-go-sdk"
)

// The first requests of an editor: it asks what codeagent can do, and opens, lists and deletes
// sessions. This file reads and checks their parameters. session.go opens and closes the sessions.

// protocolVersion is the only version of the protocol that codeagent supports.
const protocolVersion = sdk.ProtocolVersionNumber

// client holds the capabilities that the editor announces. One that it does not announce is false.
type client struct {
	fileReads, forms, pages bool
}

type initializeParams struct {
	ProtocolVersion    json.RawMessage `json:"protocolVersion"`
	ClientCapabilities json.RawMessage `json:"clientCapabilities"`
}

// object is a capability that an editor announces by a JSON object. The object's content is not read.
type object bool

func (o *object) UnmarshalJSON(data []byte) error {
	*o = data[0] == '{'
	return nil
}

// clientOf reads the capabilities of an editor. A value of the wrong type counts as not announced, and
// the others are still read: some editors write an empty object as [].
func clientOf(capabilities json.RawMessage) client {
	var c struct {
		FS struct {
			ReadTextFile bool `json:"readTextFile"`
		} `json:"fs"`
		Elicitation struct {
			Form object `json:"form"`
			URL  object `json:"url"`
		} `json:"elicitation"`
	}
	_ = json.Unmarshal(capabilities, &c) // a value of the wrong type is skipped, and the rest is read
	return client{c.FS.ReadTextFile, bool(c.Elicitation.Form), bool(c.Elicitation.URL)}
}

type initializeResult struct {
	ProtocolVersion   int                `json:"protocolVersion"`
	AgentInfo         sdk.Implementation `json:"agentInfo"`
	AgentCapabilities capabilities       `json:"agentCapabilities"`
	AuthMethods       []struct{}         `json:"authMethods"`
}

type capabilities struct {
	LoadSession         bool                   `json:"loadSession"`
	PromptCapabilities  sdk.PromptCapabilities `json:"promptCapabilities"`
	MCPCapabilities     sdk.McpCapabilities    `json:"mcpCapabilities"`
	SessionCapabilities struct {
		List                  struct{} `json:"list"`
		Delete                struct{} `json:"delete"`
		AdditionalDirectories struct{} `json:"additionalDirectories"`
		Resume                struct{} `json:"resume"`
		Close                 struct{} `json:"close"`
	} `json:"sessionCapabilities"`
}

// initialize answers with what codeagent can do. It opens nothing.
func (s *server) initialize(m jsonrpc.Message, p initializeParams) *Error {
	// The answer names protocolVersion, whatever version the editor asks for.
	switch version := p.ProtocolVersion; {
	case len(version) == 0 || string(version) == "null":
		return errorf(codeParams, "protocolVersion is missing")
	case strings.ContainsRune("{[tf", rune(version[0])):
		return errorf(codeParams, "protocolVersion is not a number")
	}
	s.ready = true
	s.mu.Lock()
	s.client = clientOf(p.ClientCapabilities)
	s.mu.Unlock()
	title := "codeagent"
	r := initializeResult{
		ProtocolVersion: protocolVersion,
		AgentInfo:       sdk.Implementation{Name: "codeagent", Title: &title, Version: s.version},
		AuthMethods:     []struct{}{},
	}
	r.AgentCapabilities.LoadSession = true
	r.AgentCapabilities.MCPCapabilities.Http = true
	r.AgentCapabilities.PromptCapabilities = sdk.PromptCapabilities{Image: true, EmbeddedContext: true}
	s.succeed(m.ID, r)
	return nil
}

// authenticate has no method to offer: keys come from the settings.
func (*server) authenticate(jsonrpc.Message) *Error {
	return errorf(codeParams, "there is no method to sign in with: codeagent takes keys from its settings")
}

type openParams struct {
	SessionID             string          `json:"sessionId"`
	Cwd                   string          `json:"cwd"`
	AdditionalDirectories []string        `json:"additionalDirectories"`
	McpServers            json.RawMessage `json:"mcpServers"`
}

type serverParams struct {
	Type    string       `json:"type"`
	Name    string       `json:"name"`
	Command string       `json:"command"`
	Args    []string     `json:"args"`
	Env     []namedValue `json:"env"`
	URL     string       `json:"url"`
	Headers []namedValue `json:"headers"`
}

type namedValue struct{ Name, Value string }

// server returns a server that an editor hands in.
func (p serverParams) server() (ToolServer, *Error) {
	one := ToolServer{Name: p.Name, Values: map[string]string{}}
	values := p.Env
	switch p.Type {
	case "", "stdio":
		one.Command, one.Args = p.Command, p.Args
	case "http":
		one.URL, values = p.URL, p.Headers
	default:
		return one, errorf(codeParams, "the MCP server %s is of the type %s; supported are stdio and http", short.Quote(p.Name, 60), short.Quote(p.Type, 60))
	}
	for _, v := range values {
		one.Values[v.Name] = v.Value
	}
	if one.Name == "" || one.Command == "" && one.URL == "" {
		return one, errorf(codeParams, "an MCP server needs a name, and a command or, of the type http, a url")
	}
	return one, nil
}

// request is what a request that opens a session asks for. A list may be null. Only resume may leave
// the servers out.
func (p openParams) request(resume bool) (OpenRequest, *Error) {
	o := OpenRequest{Folder: p.Cwd, More: p.AdditionalDirectories, Session: p.SessionID}
	if p.McpServers == nil {
		if !resume {
			return o, errorf(codeParams, "mcpServers is missing")
		}
		return o, nil
	}
	var list []serverParams
	if err := misread(json.Unmarshal(p.McpServers, &list)); err != nil {
		err.Message = "mcpServers: " + err.Message
		return o, err
	}
	for _, one := range list {
		server, err := one.server()
		if err != nil {
			return o, err
		}
		o.Servers = append(o.Servers, server)
	}
	return o, nil
}

// openSession takes up session/new, session/load and session/resume.
func (s *server) openSession(m jsonrpc.Message, p openParams) *Error {
	o, err := p.request(m.Method == "session/resume")
	switch {
	case err != nil:
		return err
	case m.Method == "session/new":
		o.Session = ""
	case o.Session == "":
		return errorf(codeParams, "sessionId is missing")
	}
	o.Replay = m.Method == "session/load"
	return s.opening(m, o)
}

type savedSession struct {
	SessionID string `json:"sessionId"`
	Cwd       string `json:"cwd"`
	Title     string `json:"title,omitempty"`
	UpdatedAt string `json:"updatedAt,omitempty"`
}

type listParams struct {
	Cwd string `json:"cwd"`
}

func (s *server) listSessions(m jsonrpc.Message, p listParams) *Error {
	if p.Cwd != "" && !path.IsAbs(p.Cwd) {
		return errorf(codeParams, "%q is not an absolute path", p.Cwd)
	}
	s.start(m, func(ctx context.Context) (any, error) {
		list, err := s.host.List(ctx, p.Cwd)
		if err != nil {
			return nil, err
		}
		out := struct {
			Sessions []savedSession `json:"sessions"`
		}{[]savedSession{}}
		for _, one := range list {
			out.Sessions = append(out.Sessions, savedSession{one.ID, one.Folder, one.Title, one.Updated})
		}
		return out, nil
	})
	return nil
}

func (s *server) deleteSession(m jsonrpc.Message, p sessionParams) *Error {
	if s.find(p.SessionID) != nil {
		return errorf(codeRequest, "session %q is open: close it first", p.SessionID)
	}
	closed := s.closed(p.SessionID)
	s.start(m, func(ctx context.Context) (any, error) {
		closed(ctx)
		return struct{}{}, s.host.Delete(ctx, p.SessionID)
	})
	return nil
}
