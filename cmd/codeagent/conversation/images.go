package conversation

import (
	"fmt"

	"codeagent/agent"
	"codeagent/event"
	"codeagent/event/word"
)

// withImages adds the images of -i to the first message of the run, after those that its
// text numbers.
func (ses *Session) withImages(in agent.Input) agent.Input {
	in.Images = append(in.Images, ses.images...)
	ses.images = nil
	return in
}

// reportImages names the images of the first message before the person writes it.
func (ses *Session) reportImages(screen Face) {
	if ses.Options.HasPrompt {
		return
	}
	for _, img := range ses.images {
		screen.Emit(event.Notice{Level: word.LevelInfo, Text: img.String() + " goes with your first message"})
	}
}

// Sees returns an error if the current model sees no images.
func (ses *Session) Sees() error {
	if name, blind := ses.Agent.Blind(); blind {
		return fmt.Errorf("%s cannot see images: /model chooses one that can", name)
	}
	return nil
}
