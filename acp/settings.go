package acp

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"codeagent/internal/jsonrpc"
	"codeagent/internal/short"
	"codeagent/internal/visible"
)

// What the editor's user chooses: config options, and the modes that they supersede. Editors that
// know only modes get those; a change of either is reported in the form of the other.

type modes struct {
	Current   string      `json:"currentModeId"`
	Available []modeValue `json:"availableModes"`
}

type modeValue struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

type configOption struct {
	ID           string        `json:"id"`
	Name         string        `json:"name"`
	Description  string        `json:"description,omitempty"`
	Category     string        `json:"category,omitempty"`
	Type         string        `json:"type"`
	CurrentValue string        `json:"currentValue"`
	Options      []configValue `json:"options"`
}

type configValue struct {
	Value       string `json:"value"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

func modesOf(c Choice) modes {
	m := modes{c.Value, []modeValue{}}
	for _, v := range c.Values {
		m.Available = append(m.Available, modeValue{v.ID, visible.Line(v.Name), visible.Text(v.About)})
	}
	return m
}

func optionsOf(list []Choice) []configOption {
	out := []configOption{}
	for _, c := range list {
		o := configOption{c.ID, c.Name, c.About, c.Category, "select", c.Value, []configValue{}}
		for _, v := range c.Values {
			o.Options = append(o.Options, configValue{v.ID, visible.Line(v.Name), visible.Text(v.About)})
		}
		out = append(out, o)
	}
	return out
}

// sent is what the editor knows of the settings and commands of a session.
type sent struct {
	// mu is held while they are looked up and sent, so that the newest are sent last.
	mu                             sync.Mutex
	mode, options, commands, title string
}

// modes and options return the settings for an answer, after which the editor knows them.
func (ses *session) modes(open Session) modes {
	ses.sent.mu.Lock()
	defer ses.sent.mu.Unlock()
	now := open.Settings().Mode
	ses.sent.mode = now.Value
	return modesOf(now)
}

func (ses *session) options(open Session) []configOption {
	ses.sent.mu.Lock()
	defer ses.sent.mu.Unlock()
	now := open.Settings().Choices
	ses.sent.options = key(now)
	return optionsOf(now)
}

// key is the value by which settings or commands are compared.
func key(v any) string {
	data, _ := json.Marshal(v) // plain data
	return string(data)
}

type modeUpdate struct {
	SessionUpdate string `json:"sessionUpdate"`
	Mode          string `json:"currentModeId"`
}

type optionsUpdate struct {
	SessionUpdate string         `json:"sessionUpdate"`
	Options       []configOption `json:"configOptions"`
}

type titleUpdate struct {
	SessionUpdate string `json:"sessionUpdate"`
	Title         string `json:"title"`
}

type commandsUpdate struct {
	SessionUpdate string             `json:"sessionUpdate"`
	Commands      []availableCommand `json:"availableCommands"`
}

type availableCommand struct {
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Input       *commandInput `json:"input,omitempty"`
}

type commandInput struct {
	Hint string `json:"hint"`
}

// Refresh sends what the editor does not know yet of the settings and commands.
func (ses *session) Refresh() {
	open := ses.current()
	if open == nil {
		return // the answer that opens the session has them
	}
	ses.sent.mu.Lock()
	defer ses.sent.mu.Unlock()
	var updates []any
	now, commands := open.Settings(), open.Commands()
	if now.Mode.Value != ses.sent.mode {
		updates = append(updates, modeUpdate{"current_mode_update", now.Mode.Value})
	}
	if key(now.Choices) != ses.sent.options {
		updates = append(updates, optionsUpdate{"config_option_update", optionsOf(now.Choices)})
	}
	if key(commands) != ses.sent.commands {
		updates = append(updates, commandsUpdate{"available_commands_update", commandsOf(commands)})
	}
	if title := open.Title(); title != ses.sent.title {
		updates = append(updates, titleUpdate{"session_info_update", visible.Line(title)})
		ses.sent.title = title
	}
	ses.sent.mode, ses.sent.options, ses.sent.commands = now.Mode.Value, key(now.Choices), key(commands)
	ses.mu.Lock()
	defer ses.mu.Unlock()
	for _, u := range updates {
		ses.update(u)
	}
}

func commandsOf(list []Command) []availableCommand {
	out := []availableCommand{}
	for _, c := range list {
		one := availableCommand{Name: c.Name, Description: visible.Line(c.About)}
		if c.Hint != "" {
			one.Input = &commandInput{c.Hint}
		}
		out = append(out, one)
	}
	return out
}

type modeParams struct {
	SessionID string `json:"sessionId"`
	Mode      string `json:"modeId"`
}

func (s *server) setMode(m jsonrpc.Message, p modeParams) *Error {
	return s.change(m, p.SessionID, "", p.Mode, func(ses *session, open Session) any {
		ses.modes(open)
		return struct{}{}
	})
}

type choiceParams struct {
	SessionID string          `json:"sessionId"`
	ID        string          `json:"configId"`
	Value     json.RawMessage `json:"value"`
}

func (s *server) setChoice(m jsonrpc.Message, p choiceParams) *Error {
	var value string
	if json.Unmarshal(p.Value, &value) != nil || p.ID == "" {
		return errorf(codeParams, "configId and value must name an option and one of its values")
	}
	return s.change(m, p.SessionID, p.ID, value, func(ses *session, open Session) any {
		return struct {
			Options []configOption `json:"configOptions"`
		}{ses.options(open)}
	})
}

// change changes a choice, "" for the mode, and answers with what answer returns. What applies
// between turns waits for the end of those that were asked for before.
func (s *server) change(m jsonrpc.Message, id, choice, value string, answer func(*session, Session) any) *Error {
	ses, err := s.session(id)
	if err != nil {
		return err
	}
	opened, step := ses.steps.enter()
	before, over := ses.turns.enter()
	s.start(m, func(ctx context.Context) (any, error) {
		defer step()
		defer s.work.Go(func() { // what comes later still waits for the turns before it
			<-before
			over()
		})
		<-opened
		open := ses.current()
		if open == nil {
			return nil, errorf(codeNotFound, "session %q is not open", id)
		}
		c, err := open.Settings().find(choice, value)
		if err != nil {
			return nil, err
		}
		if c.Between {
			step()
			select {
			case <-before:
			case <-ctx.Done():
				return nil, errorf(codeCancelled, "cancelled")
			}
		}
		if err := open.Set(ctx, c.ID, value); err != nil {
			return nil, err
		}
		result := answer(ses, open)
		ses.Refresh()
		return result, nil
	})
	return nil
}

// find returns the choice, "" for the mode, if it has the value.
func (s Settings) find(id, value string) (Choice, error) {
	c := s.Mode
	if id != "" {
		i := slices.IndexFunc(s.Choices, func(c Choice) bool { return c.ID == id })
		if i < 0 {
			return c, errorf(codeParams, "there is no option %s", short.Quote(id, 100))
		}
		c = s.Choices[i]
	}
	if !slices.ContainsFunc(c.Values, func(v Value) bool { return v.ID == value }) {
		return c, errorf(codeParams, "%s has no value %s", c.Name, short.Quote(value, 100))
	}
	return c, nil
}
