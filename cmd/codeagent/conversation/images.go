package conversation

import (
	"fmt"

	"codeagent/agent"
	"codeagent/event"
)

// withImages adds the images of -i to the first message of the run, behind those
// that its text numbers.
func (ses *Session) withImages(in agent.Input) agent.Input {
	in.Images = append(in.Images, ses.images...)
	ses.images = nil
	return in
}

// reportImages names the images that go with the first message, before it is written.
func (ses *Session) reportImages(screen Face) {
	if ses.Options.HasPrompt {
		return
	}
	for _, img := range ses.images {
		screen.Emit(event.Notice{Level: event.LevelInfo, Text: img.String() + " goes with your first message"})
	}
}

// Sees is the error for an image where the model that answers now sees none.
func (ses *Session) Sees() error {
	if name, blind := ses.Agent.Blind(); blind {
		return fmt.Errorf("%s cannot see images: /model chooses one that can", name)
	}
	return nil
}
