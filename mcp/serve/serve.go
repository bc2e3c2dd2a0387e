// Package serve is the server half of the Model Context Protocol, over a pair of pipes: it offers
// the tools of a Host to one client. It starts no process, opens no file and judges nothing; what
// a client sends is bounded here. Start reading at Run, then at call.go for the way of a call and
// conn.go for what never reaches the SDK.
package serve

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"codeagent/mcp/inquiry"
	"codeagent/model"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Host runs the calls.
type Host interface {
	// Call runs one call of a tool that Options.Tools names. It returns soon after ctx is done,
	// with everything that it started ended. Several calls run at the same time.
	Call(ctx context.Context, c Call) Result
}

// Tool describes one tool to the client.
type Tool struct {
	Name, Title, Description string
	// Input and Output are JSON Schemas of the arguments and of Result.Structured; no Output: nothing
	// is structured.
	Input, Output json.RawMessage
	// Destructive and OpenWorld are the hints of the protocol.
	Destructive, OpenWorld bool
}

// Call is one call of a tool.
type Call struct {
	Tool string
	// Arguments is a JSON object as the client wrote it.
	Arguments json.RawMessage
	// Asks: the client can show a question to a person.
	Asks bool
	// Ask puts a question and returns the ID of the option that was chosen, or "" for a no: the
	// person declined, chose nothing that was offered, or nobody answered in time. An error says
	// why the question could not be put.
	Ask func(ctx context.Context, q Question) (string, error)
	// Inquire puts the question of another MCP server, whose words Message has to mark as such. The
	// reply fits the question; everything else is a cancel. An error says why the question could
	// not be put.
	Inquire func(ctx context.Context, q inquiry.Question) (inquiry.Reply, error)
	// Progress shows a line while the call runs. It never blocks, and drops lines that a slow
	// client does not take.
	Progress func(line string)
}

// Question is a question to the person behind the client.
type Question struct {
	Message string
	Options []Option
}

// Option is one answer to a Question.
type Option struct{ ID, Label string }

// Result is the result of a call.
type Result struct {
	Text   string
	Images []model.Image
	// Structured fits the Output of the tool; nil: there is nothing to report.
	Structured any
	// Failed: the call was done and failed, or was refused.
	Failed bool
}

// Options configures a server.
type Options struct {
	Name, Title, Version string
	// Instructions say to the client's model what the tools are for.
	Instructions string
	Tools        []Tool
	Host         Host
	// Patience is how long a question waits for its answer; 0: five minutes.
	Patience time.Duration
}

// patience is the default of Options.Patience.
const patience = 5 * time.Minute

// Run serves one client until in ends or ctx is done. All calls have ended when it returns. The
// error is the cause of ctx, or that of the pipes.
func Run(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	if o.Patience == 0 {
		o.Patience = patience
	}
	ctx, stop := context.WithCancelCause(ctx)
	s := &server{ctx: ctx, options: o, parked: map[string]*run{}}
	sdk := mcp.NewServer(&mcp.Implementation{Name: o.Name, Title: o.Title, Version: o.Version}, &mcp.ServerOptions{
		Instructions: o.Instructions, Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	for _, t := range o.Tools {
		sdk.AddTool(described(t), s.handle)
	}
	c, err := newConn(ctx, in, out)
	if err != nil {
		stop(nil)
		return err
	}
	defer c.Close()
	waiting, left := context.WithCancel(ctx)
	c.left = left
	session, err := sdk.Connect(ctx, c, nil)
	if err != nil {
		stop(nil)
		return err
	}
	over := make(chan error, 1)
	go func() { over <- session.Wait() }()
	select { // a client that reads nothing does not keep the server
	case err = <-over:
	case <-waiting.Done():
	}
	left()
	cause := context.Cause(ctx)
	stop(nil) // ends calls that wait for an answer
	s.running.Wait()
	if cause != nil {
		return cause
	}
	if errors.Is(err, io.ErrClosedPipe) { // an answer that was not sent when the client had left
		return nil
	}
	return err
}

func described(t Tool) *mcp.Tool {
	out := &mcp.Tool{
		Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.Input,
		Annotations: &mcp.ToolAnnotations{Title: t.Title, DestructiveHint: &t.Destructive, OpenWorldHint: &t.OpenWorld},
	}
	if t.Output != nil { // else the schema would be null, which is not a schema
		out.OutputSchema = t.Output
	}
	return out
}
