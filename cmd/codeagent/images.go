package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"codeagent/agent"
	"codeagent/cmd/codeagent/cli"
	"codeagent/event"
	"codeagent/hostfile"
	"codeagent/internal/picture"
	"codeagent/model"
	"codeagent/tui"
	"codeagent/tui/message"

	"github.com/spf13/pflag"
)

// loadImage reads an image that the person named, with the person's own rights:
// no command and no model has a say in which, nor a link that a command has made.
func loadImage(ctx context.Context, g hostfile.Ground, path string) (model.Image, error) {
	img, err := readImage(ctx, g, path)
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		err = e.Err
	}
	if err != nil {
		return model.Image{}, fmt.Errorf("image %s: %w", path, err)
	}
	return img, nil
}

func readImage(ctx context.Context, g hostfile.Ground, path string) (model.Image, error) {
	name, err := filepath.Abs(path)
	if err == nil {
		name, err = g.Resolve("/", name)
	}
	var data []byte
	if err == nil {
		data, err = hostfile.Read(ctx, name, picture.MaxFile)
	}
	var kind *hostfile.KindError
	var large *hostfile.TooLargeError
	switch {
	case errors.As(err, &kind) && kind.Mode.IsDir():
		return model.Image{}, errors.New("it is a folder")
	case errors.As(err, &kind):
		return model.Image{}, errors.New("it is not a regular file")
	case errors.As(err, &large):
		return model.Image{}, picture.TooLarge(large.Size)
	case err != nil:
		return model.Image{}, err
	}
	return picture.Read(ctx, path, data)
}

// loadImages reads what -i names, all of it before anything begins.
func loadImages(ctx context.Context, g hostfile.Ground, paths []string) ([]model.Image, error) {
	if len(paths) > agent.MaxImages {
		return nil, &cli.UsageError{Err: fmt.Errorf("-i names %d images; a message has at most %d", len(paths), agent.MaxImages)}
	}
	var images []model.Image
	for _, path := range paths {
		img, err := loadImage(ctx, g, path)
		if err != nil {
			return nil, &cli.UsageError{Err: fmt.Errorf("-i: %w", err)}
		}
		images = append(images, img)
	}
	return images, nil
}

// imageFlag is -i, on each way of running that sends a message.
func imageFlag(f *pflag.FlagSet, paths *[]string) {
	f.StringArrayVarP(paths, "image", "i", nil, "show the model this image file with the first message; may be given several times")
}

// withImages adds the images of -i to the first message of the run, behind those
// that its text numbers.
func (ses *session) withImages(in agent.Input) agent.Input {
	in.Images = append(in.Images, ses.images...)
	ses.images = nil
	return in
}

// tellImages says what goes with a message that is not written yet.
func (ses *session) tellImages(screen face) {
	if ses.options.hasPrompt {
		return
	}
	for _, img := range ses.images {
		screen.Emit(event.Notice{Level: event.LevelInfo, Text: img.String() + " goes with your first message"})
	}
}

// imageLoader loads images whose paths the person pastes.
type imageLoader struct{ ses *session }

func (l imageLoader) Load(ctx context.Context, path string) (message.Image, error) {
	if info, err := hostfile.Seen(path); err != nil || !info.Mode().IsRegular() {
		return message.Image{}, tui.ErrNoImage
	}
	img, err := loadImage(ctx, l.ses.Ground(), path)
	if errors.Is(err, picture.ErrFormat) {
		err = fmt.Errorf("%w: %w", tui.ErrNoImage, err)
	}
	if err != nil {
		return message.Image{}, err
	}
	if err := l.ses.sees(); err != nil {
		return message.Image{}, err
	}
	return shown(img), nil
}

// sees is the error for an image where the model that answers now sees none.
func (ses *session) sees() error {
	if name, blind := ses.agent.Blind(); blind {
		return fmt.Errorf("%s cannot see images: /model chooses one that can", name)
	}
	return nil
}
