package screen

import (
	"codeagent/agent"
	"codeagent/cmd/codeagent/cli"
	"codeagent/event"
	"codeagent/model"
	"codeagent/tui"
	"codeagent/tui/message"
)

// drawn makes a screen the face of a session.
type drawn struct{ *tui.Screen }

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

// input is what the person wrote as the agent takes it.
func input(said message.Message) agent.Input {
	in := agent.Input{Text: said.Text}
	for _, i := range said.Images {
		in.Images = append(in.Images, model.Image{Name: i.Name, MediaType: i.Type, Width: i.Width, Height: i.Height, Sum: i.Sum, Data: i.Data})
	}
	return in
}

func shown(i model.Image) message.Image {
	return message.Image{Name: i.Name, Type: i.MediaType, Width: i.Width, Height: i.Height, Sum: i.Sum, Data: i.Data}
}

// screenMessage is what the agent gives back as the screen takes it.
func screenMessage(in agent.Input) message.Message {
	said := message.Message{Text: in.Text}
	for _, i := range in.Images {
		said.Images = append(said.Images, shown(i))
	}
	return said
}
