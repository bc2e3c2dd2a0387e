// Package inquiry holds the questions of MCP servers and of the model to the person, the answers,
// and whether an answer fits its question. None of them is about a permission, and no answer grants
// anything.
package inquiry

import (
	"errors"
	"strings"

	"codeagent/internal/visible"
)

// ErrNobody: nobody can be asked here.
var ErrNobody = errors.New("nobody can answer a question here")

// Question is a question to the person: of an MCP server (an elicitation), or of the model. Each of
// its texts is the asker's own: hostile, bounded and cleaned by room mcp or tools. A face shows them
// as the asker's words and never as codeagent's.
type Question struct {
	// Server is the configured name of the server, empty for a question of the model; CallID the
	// tool call that it is about, empty if none runs.
	Server, CallID string
	// Message says what the asker wants to know.
	Message string
	// Fields are what it asks for. A question with URL has none.
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
	// Choices are the values that may be chosen, as they are shown, each once. About says more
	// about each; nil: nothing.
	Choices, About []string
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

// ByModel reports whether the model asks.
func (q Question) ByModel() bool { return q.Server == "" }

// Asker names who asks, by the configured name.
func (q Question) Asker() string {
	if q.ByModel() {
		return "the model"
	}
	return "the MCP server " + visible.Fact(q.Server)
}

// Marked is the message of a question for a form that another program shows. Each line of the asker's is
// marked, so that none looks like one of codeagent's. which says more about the asker, or is empty.
func (q Question) Marked(which string) string {
	lines := visible.Text(q.Message)
	for _, f := range q.Fields {
		for i, about := range f.About {
			lines += "\n" + visible.Line(f.Choices[i]) + ": " + visible.Line(about)
		}
	}
	grants := ""
	if q.ByModel() {
		grants = " An answer permits nothing."
	}
	return "T" + q.Asker()[1:] + which + " asks; these are its words, not codeagent's. It gets what is entered: no passwords, no keys." + grants + "\n> " + strings.ReplaceAll(lines, "\n", "\n> ")
}
