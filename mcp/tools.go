package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"codeagent/internal/short"
	"codeagent/internal/visible"
)

// Bounds of a list of tools.
const (
	maxTools = 500
	// maxListed bounds all descriptions and schemas of a server together, in bytes: the model
	// pays for each of them in each request.
	maxListed = 1 << 20
	// maxOffered bounds a tool's name for the model, in bytes, as providers do.
	maxOffered = 64
	// changeEvery is how often a list that changes is read.
	changeEvery = time.Second
)

// Tool is one tool of a server. All texts are the server's: bounded and safe to show.
type Tool struct {
	// Name is the server's name for it, as Call takes it.
	Name string
	// Offered is its name for the model, NAME__tool: at most 64 of [a-zA-Z0-9_-], and no other
	// tool of this server has it.
	Offered string
	// Title is for people, "" if absent.
	Title       string
	Description string
	// Schema is the JSON Schema object of its arguments.
	Schema json.RawMessage
	// ReadOnly and Destructive are the server's claims. They are not evidence. A tool without
	// them counts as one that may destroy.
	ReadOnly, Destructive bool
	// Sum is a SHA-256 over all of the above: another one means that the server has changed what
	// a person or a model has seen.
	Sum string

	output json.RawMessage
}

// Tools are the tools that the server offers now, in the order of their names.
func (c *Client) Tools() []Tool { return slices.Clone(*c.tools.Load()) }

// readTools reads the list anew.
func (c *Client) readTools(ctx context.Context) error {
	session := c.current()
	if r := session.InitializeResult(); r != nil && (r.Capabilities == nil || r.Capabilities.Tools == nil) {
		return nil
	}
	tools, err := first(session.Tools(ctx, nil), maxTools, c.log)
	if err != nil {
		return err
	}
	list := c.checked(tools)
	c.tools.Store(&list)
	return nil
}

// first are the entries of a list, without null, and at most so many.
func first[T any](list iter.Seq2[*T, error], most int, log *logger) (all []*T, err error) {
	for one, err := range list {
		switch {
		case err != nil:
			return nil, err
		case len(all) == most:
			log.sayOnce(fmt.Sprintf("the server lists more than %d entries; the others are left out", most))
			return all, nil
		case one != nil:
			all = append(all, one)
		}
	}
	return all, nil
}

// checked are the tools that can be offered, by name. What cannot is reported.
func (c *Client) checked(tools []*sdk.Tool) []Tool {
	var list []Tool
	names := map[string]bool{}
	for _, t := range tools {
		tool, why := c.checkedTool(t)
		switch {
		case why == "" && names[tool.Name]:
			why = "its name is listed twice"
		case why == "" && !c.wanted(tool.Name):
			continue
		}
		if why != "" {
			c.log.sayOnce(fmt.Sprintf("tool %s is left out: %s", line(t.Name, maxName), why))
			continue
		}
		names[tool.Name] = true
		list = append(list, tool)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return c.named(list)
}

// wanted reports whether the settings offer a tool.
func (c *Client) wanted(name string) bool {
	return (len(c.o.Enabled) == 0 || slices.Contains(c.o.Enabled, name)) && !slices.Contains(c.o.Disabled, name)
}

// checkedTool is a tool with its texts bounded; why says why it cannot be offered.
func (c *Client) checkedTool(t *sdk.Tool) (tool Tool, why string) {
	switch {
	case t.Name == "":
		return Tool{}, "it has no name"
	case len(t.Name) > maxName:
		return Tool{}, fmt.Sprintf("its name is longer than %d bytes", maxName)
	case visible.Line(t.Name) != t.Name:
		return Tool{}, "its name has characters that cannot be seen"
	}
	schema, why := checkedSchema(t.InputSchema)
	if why != "" {
		return Tool{}, "the schema of its arguments is not valid: " + why
	}
	tool = Tool{Name: t.Name, Title: line(t.Title, maxTitle), Description: text(t.Description, maxDescription), Schema: schema, Destructive: true}
	if a := t.Annotations; a != nil {
		if tool.Title == "" {
			tool.Title = line(a.Title, maxTitle)
		}
		tool.ReadOnly = a.ReadOnlyHint
		tool.Destructive = !a.ReadOnlyHint && (a.DestructiveHint == nil || *a.DestructiveHint)
	}
	if t.OutputSchema != nil {
		tool.output, _ = json.Marshal(t.OutputSchema)
	}
	return tool, ""
}

// named gives each tool its name for the model and its sum, and leaves out what exceeds
// maxListed.
func (c *Client) named(list []Tool) []Tool {
	taken := map[string]bool{}
	total := 0
	for i := range list {
		t := &list[i]
		if total += len(t.Description) + len(t.Schema); total > maxListed {
			c.log.sayOnce(fmt.Sprintf("%d tools are left out: all descriptions together have more than %d KiB", len(list)-i, maxListed>>10))
			return list[:i]
		}
		t.Offered = offered(c.o.Name, t.Name, taken)
		taken[t.Offered] = true
		sum := sha256.New()
		for _, s := range []string{t.Name, t.Title, t.Description, string(t.Schema), fmt.Sprint(t.ReadOnly, t.Destructive)} {
			fmt.Fprintf(sum, "%d:%s", len(s), s)
		}
		t.Sum = hex.EncodeToString(sum.Sum(nil))
	}
	return list
}

var unnameable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-zA-Z0-9_-]`) })

// offered is a tool's name for the model. Where that is taken or too long, it ends with some digits of
// the sum of the real one, so it is the same in each session.
//
// Threat: a provider refuses a request in which two tools have one name, and a server can compute the
// digits of another of its tools. So the name is tried until it is free.
func offered(server, tool string, taken map[string]bool) string {
	name := unnameable().ReplaceAllString(server, "_") + "__" + unnameable().ReplaceAllString(tool, "_")
	out := name
	for n := 0; len(out) > maxOffered || taken[out]; n++ {
		sum := sha256.Sum256([]byte(server + strings.Repeat("\x00", n+1) + tool))
		end := "_" + hex.EncodeToString(sum[:4])
		out = short.Head(name, maxOffered-len(end)) + end
	}
	return out
}

// changed reads the list of tools anew, once at a time and not more often than changeEvery.
func (c *Client) changed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil { // it is still connecting: start reads the list after that
		return
	}
	if c.again = c.changing; c.changing {
		return
	}
	c.changing = true
	go c.follow()
}

// follow reads the list until no change is waiting. It ends with the client.
func (c *Client) follow() {
	for {
		ctx, cancel := context.WithTimeoutCause(c.ends, listTime, ErrTime)
		before := c.Tools()
		err := c.readTools(ctx)
		if err != nil && c.ends.Err() == nil {
			c.log.say("warning", c.words(ctx, "reading its changed list of tools", err).Error())
		}
		cancel()
		if c.o.Changed != nil && !slices.EqualFunc(before, c.Tools(), func(a, b Tool) bool { return a.Sum == b.Sum && a.Offered == b.Offered }) {
			c.o.Changed()
		}
		select {
		case <-c.ends.Done():
			return
		case <-time.After(changeEvery):
		}
		c.mu.Lock()
		c.changing, c.again = c.again, false
		more := c.changing
		c.mu.Unlock()
		if !more {
			return
		}
	}
}
