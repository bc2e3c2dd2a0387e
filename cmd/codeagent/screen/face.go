package screen

import (
	"codeagent/agent"
	"codeagent/cmd/codeagent/cli"
	"codeagent/event"
	"codeagent/tui"
	"codeagent/tui/message"
)

// drawn adapts a screen to a session's Face.
type drawn struct{ *tui.Screen }

// Steer returns what was typed while the model worked.
func (s *drawn) Steer() (agent.Input, bool) {
	said, ok := s.Screen.Steer()
	return input(said), ok
}

// Emit adds hints to the error of a failed turn, since the screen shows it for the last
// time; exec prints the hints when it ends.
func (s *drawn) Emit(e event.Event) {
	if done, over := e.(event.TurnFinished); over {
		done.Err = cli.InWords(done.Err)
		e = done
	}
	s.Screen.Emit(e)
}

func input(said message.Message) agent.Input {
	in := agent.Input{Text: said.Text, Typed: said.Typed, About: said.About, Foreign: said.Foreign}
	for _, i := range said.Images {
		in.Images = append(in.Images, i.Image)
	}
	return in
}

func screenMessage(in agent.Input) message.Message {
	said := message.Message{Text: in.Text, Typed: in.Typed}
	for _, i := range in.Images {
		said.Images = append(said.Images, message.Image{Image: i})
	}
	return said
}
