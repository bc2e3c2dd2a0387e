package approvals

import "codeagent/sandbox"

// ServerCall is a call of a tool of an MCP server. All but Policy and the name of the server are
// the server's or the model's words.
type ServerCall struct {
	// Server is the configured name of the server, and Tool the server's own name for the tool.
	Server, Tool string
	// ReadOnly: the server claims that the tool only reads. Its claim is not evidence.
	ReadOnly bool
	// Remote: the server is reached by URL and runs outside the sandbox.
	Remote bool
	// Program says what the server is: its command line, or its URL.
	Program string
	// Described identifies how the server describes the tool now: a hash of its name, description,
	// schema and annotations. A yes covers later calls only while it stays the same.
	Described string
	// Policy is what the server may do now. A permit widens this policy and not that of commands.
	Policy sandbox.Policy
	// Arguments is the JSON of the call as it is sent.
	Arguments string
}

// clone returns a deep copy of c, nil for nil.
func (c *ServerCall) clone() *ServerCall {
	if c == nil {
		return nil
	}
	out := *c
	out.Policy = c.Policy.Clone()
	return &out
}
