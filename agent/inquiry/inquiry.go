// Package inquiry holds the questions of MCP servers to the person, and the answers.
package inquiry

// Question is a question of an MCP server to the person (an elicitation). Each of its texts is
// the server's own: hostile, bounded and cleaned by room mcp. A face shows them as the server's
// words and never as codeagent's.
type Question struct {
	// Server is the configured name of the server; CallID the tool call that it works on, empty
	// if none runs.
	Server, CallID string
	// Message says what the server wants to know.
	Message string
	// Fields are what it asks for, in the server's order. A question with URL has none.
	Fields []Field
	// URL is a page that the server wants the person to open. codeagent opens nothing by itself.
	URL string
}

// Field is one value that a server asks for.
type Field struct {
	// Name is the key of the value in Reply.Values; Title and Description are shown, and may be
	// empty.
	Name, Title, Description string
	// Kind is String, Number, Integer, Boolean or Choice.
	Kind     string
	Required bool
	// Choices are the values of a Choice.
	Choices []string
	// Default is a string, a float64, an int64 or a bool as Kind says; nil: there is none.
	Default any
}

// The kinds of a Field.
const (
	String  = "string"
	Number  = "number"
	Integer = "integer"
	Boolean = "boolean"
	Choice  = "choice"
)

// Reply is the answer to a Question. The zero value is not an answer.
type Reply struct {
	// Action is Accepted, Declined or Cancelled.
	Action string
	// Values are the person's by field name, if Action is Accepted.
	Values map[string]any
}

// The actions of a Reply, in the words of MCP.
const (
	Accepted  = "accept"
	Declined  = "decline"
	Cancelled = "cancel"
)
