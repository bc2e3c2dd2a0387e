package acp

import (
	"context"
	"encoding/json"
	"path"

	sdk "github.com/coder/acp-go-sdk"
)

// protocolVersion is the one version of the protocol that is spoken.
const protocolVersion = sdk.ProtocolVersionNumber

// client is what the editor says that it can do. What it leaves out it cannot do.
type client struct {
	fileReads, notices, compactions, forms, pages bool
}

type initializeParams struct {
	ProtocolVersion    *json.Number `json:"protocolVersion"`
	ClientCapabilities struct {
		FS struct {
			ReadTextFile bool `json:"readTextFile"`
		} `json:"fs"`
		Session struct {
			Compaction *struct{} `json:"compaction"`
			Notices    *struct{} `json:"notices"`
		} `json:"session"`
		Elicitation struct {
			Form *struct{} `json:"form"`
			URL  *struct{} `json:"url"`
		} `json:"elicitation"`
	} `json:"clientCapabilities"`
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
func (s *server) initialize(m message) *Error {
	var p initializeParams
	if err := decode(m.params, &p); err != nil {
		return err
	}
	if p.ProtocolVersion == nil {
		return errorf(codeParams, "protocolVersion is missing")
	}
	if _, err := p.ProtocolVersion.Int64(); err != nil {
		return errorf(codeParams, "protocolVersion is not an integer")
	}
	c := p.ClientCapabilities
	s.mu.Lock()
	s.client = client{c.FS.ReadTextFile, c.Session.Notices != nil, c.Session.Compaction != nil, c.Elicitation.Form != nil, c.Elicitation.URL != nil}
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
	s.succeed(m.id, r)
	return nil
}

// authenticate has no method to offer: keys come from the settings.
func (*server) authenticate(message) *Error {
	return errorf(codeParams, "there is no method to sign in with: codeagent takes keys from its settings")
}

type openParams struct {
	SessionID             string          `json:"sessionId"`
	Cwd                   string          `json:"cwd"`
	AdditionalDirectories []string        `json:"additionalDirectories"`
	McpServers            []sdk.McpServer `json:"mcpServers"`
}

// read reads the parameters of a request that opens a session.
func (p *openParams) read(params json.RawMessage) (Opening, *Error) {
	if err := decode(params, p); err != nil {
		return Opening{}, err
	}
	o := Opening{Folder: p.Cwd, More: p.AdditionalDirectories, Session: p.SessionID}
	for _, server := range p.McpServers {
		one := ToolServer{Values: map[string]string{}}
		switch {
		case server.Stdio != nil:
			one.Name, one.Command, one.Args = server.Stdio.Name, server.Stdio.Command, server.Stdio.Args
			for _, v := range server.Stdio.Env {
				one.Values[v.Name] = v.Value
			}
		case server.Http != nil:
			one.Name, one.URL = server.Http.Name, server.Http.Url
			for _, h := range server.Http.Headers {
				one.Values[h.Name] = h.Value
			}
		default:
			return o, errorf(codeParams, "an MCP server is neither a program nor reached over http")
		}
		if one.Name == "" || one.Command == "" && one.URL == "" {
			return o, errorf(codeParams, "an MCP server needs a name and a command or a URL")
		}
		o.Servers = append(o.Servers, one)
	}
	return o, nil
}

func (s *server) newSession(m message) *Error {
	var p openParams
	o, err := p.read(m.params)
	if err != nil {
		return err
	}
	if o.Session = ""; p.McpServers == nil {
		return errorf(codeParams, "mcpServers is missing")
	}
	return s.opening(m, o)
}

func (s *server) loadSession(m message) *Error {
	var p openParams
	o, err := p.read(m.params)
	if err != nil {
		return err
	}
	if o.Replay = true; p.McpServers == nil {
		return errorf(codeParams, "mcpServers is missing")
	}
	return s.continueSession(m, o)
}

func (s *server) resumeSession(m message) *Error {
	var p openParams
	o, err := p.read(m.params)
	if err != nil {
		return err
	}
	return s.continueSession(m, o)
}

func (s *server) continueSession(m message, o Opening) *Error {
	if o.Session == "" {
		return errorf(codeParams, "sessionId is missing")
	}
	return s.opening(m, o)
}

type savedSession struct {
	SessionID string `json:"sessionId"`
	Cwd       string `json:"cwd"`
	Title     string `json:"title,omitempty"`
	UpdatedAt string `json:"updatedAt,omitempty"`
}

func (s *server) listSessions(m message) *Error {
	var p struct {
		Cwd    string `json:"cwd"`
		Cursor string `json:"cursor"`
	}
	if err := decode(m.params, &p); err != nil {
		return err
	}
	if p.Cwd != "" && !path.IsAbs(p.Cwd) {
		return errorf(codeParams, "%q is not an absolute path", p.Cwd)
	}
	s.start(m, func(ctx context.Context) (any, error) {
		list, next, err := s.host.List(ctx, p.Cwd, p.Cursor)
		if err != nil {
			return nil, err
		}
		out := struct {
			Sessions   []savedSession `json:"sessions"`
			NextCursor string         `json:"nextCursor,omitempty"`
		}{[]savedSession{}, next}
		for _, one := range list {
			out.Sessions = append(out.Sessions, savedSession{one.ID, one.Folder, one.Title, one.Updated})
		}
		return out, nil
	})
	return nil
}

func (s *server) deleteSession(m message) *Error {
	var p struct {
		SessionID string `json:"sessionId"`
	}
	if err := decode(m.params, &p); err != nil {
		return err
	}
	if s.find(p.SessionID) != nil {
		return errorf(codeRequest, "session %q is open: close it first", p.SessionID)
	}
	s.start(m, func(ctx context.Context) (any, error) { return struct{}{}, s.host.Delete(ctx, p.SessionID) })
	return nil
}
