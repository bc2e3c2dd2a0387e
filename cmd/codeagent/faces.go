package main

import (
	"codeagent/agent"
	"codeagent/cmd/codeagent/cli"
	"codeagent/event"
	"codeagent/headless"
	"codeagent/model"
	"codeagent/tui"
	"codeagent/tui/message"
)

// drawn and printed make the two faces the agent's: the rooms do not know
// each other.
type (
	drawn   struct{ *tui.Screen }
	printed struct {
		*headless.Printer
		// ending is run before the end of the one turn is told.
		ending func()
	}
)

// Steer hands over what was typed while the model worked.
func (s drawn) Steer() (agent.Input, bool) {
	said, ok := s.Screen.Steer()
	return input(said), ok
}

// Emit tells why a turn failed with what to do about it: the screen is the last
// to show it, where exec says it as its last word.
func (s drawn) Emit(e event.Event) {
	if done, over := e.(event.TurnFinished); over {
		done.Err = cli.InWords(done.Err)
		e = done
	}
	s.Screen.Emit(e)
}

// Emit ends what runs in the background before it tells that the turn is over:
// with it codeagent ends, and the end of a turn is the last line of a run.
func (p printed) Emit(e event.Event) {
	if _, over := e.(event.TurnFinished); over {
		p.ending()
	}
	p.Printer.Emit(e)
}

// Steer has never anything to say: nobody types.
func (printed) Steer() (agent.Input, bool) { return agent.Input{}, false }

// input is what the person wrote as the agent takes it.
func input(said message.Message) agent.Input {
	in := agent.Input{Text: said.Text}
	for _, i := range said.Images {
		in.Images = append(in.Images, model.Image{Name: i.Name, MediaType: i.Type, Width: i.Width, Height: i.Height, Sum: i.Sum, Data: i.Data})
	}
	return in
}

// screenMessage is what the agent gives back as the screen takes it.
func screenMessage(in agent.Input) message.Message {
	said := message.Message{Text: in.Text}
	for _, i := range in.Images {
		said.Images = append(said.Images, shown(i))
	}
	return said
}

func shown(i model.Image) message.Image {
	return message.Image{Name: i.Name, Type: i.MediaType, Width: i.Width, Height: i.Height, Sum: i.Sum, Data: i.Data}
}
