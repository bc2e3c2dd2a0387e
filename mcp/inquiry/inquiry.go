// Package inquiry holds the questions of MCP servers to the person, the answers, and whether an
// answer fits its question.
package inquiry

import "strings"

// Question is a question of an MCP server to the person (an elicitation). Each of its texts is
// the server's own: hostile, bounded and cleaned by room mcp. A face shows them as the server's
// words and never as codeagent's.
type Question struct {
	// Server is the configured name of the server; CallID the tool call that it works on, empty
	// if none runs.
	Server, CallID string
	// Message says what the server wants to know.
	Message string
	// Fields are what it asks for, the required ones first. A question with URL has none.
	Fields []Field
	// URL is a page that the server wants the person to open, http or https, "" for a form.
	// codeagent opens nothing by itself.
	URL string
}

// Field is one value that a server asks for.
type Field struct {
	// Name is the key of the value in Reply.Values; Title and Description are shown, and may be
	// empty.
	Name, Title, Description string
	Kind                     Kind
	Required                 bool
	// Format is what a String must be: "email", "uri", "date" or "date-time"; "": any text.
	Format string
	// Least and Most bound the characters of a String, the value of a Number or Integer, and how
	// many Choices are taken; nil: no bound.
	Least, Most *float64
	// Choices are the values that may be chosen, as they are shown, each once.
	Choices []string
	// Default is a value that fits, as in Reply.Values, or nil.
	Default any
}

// Kind is what kind of value a field takes.
type Kind string

// The kinds of a Field.
const (
	String  Kind = "string"
	Number  Kind = "number"
	Integer Kind = "integer"
	Boolean Kind = "boolean"
	// Choice is one of Field.Choices, Choices any number of them.
	Choice  Kind = "choice"
	Choices Kind = "choices"
)

// Reply is the answer to a Question. The zero value is not an answer.
type Reply struct {
	// Action is Accepted, Declined or Cancelled.
	Action string
	// Values are the person's by field name, if Action is Accepted: a string for String and
	// Choice, a float64 for Number and Integer, a bool, a []string for Choices. What the person
	// left out is absent.
	Values map[string]any
}

// The actions of a Reply, in the words of MCP.
const (
	Accepted  = "accept"
	Declined  = "decline"
	Cancelled = "cancel"
)

// Marked is the message of a question for a form that another program shows. Each line of the server's is
// marked, so that none looks like one of codeagent's. who names the server.
func Marked(who, message string) string {
	return who + " asks; these are its words, not codeagent's. It gets what is entered: no passwords, no keys.\n> " + strings.ReplaceAll(message, "\n", "\n> ")
}
