package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"codeagent/agent"
	"codeagent/event"
	"codeagent/internal/picture"
	"codeagent/model"
	"codeagent/tui"

	"github.com/spf13/pflag"
)

// loadImage reads an image that the person named, with the person's own rights:
// no command and no model has a say in which.
func loadImage(ctx context.Context, path string) (model.Image, error) {
	img, err := readImage(ctx, path)
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		err = e.Err
	}
	if err != nil {
		return model.Image{}, fmt.Errorf("image %s: %w", path, err)
	}
	return img, nil
}

func readImage(ctx context.Context, path string) (model.Image, error) {
	// Without waiting: what is named may be a pipe that nobody writes to.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return model.Image{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return model.Image{}, err
	case info.IsDir():
		return model.Image{}, errors.New("it is a folder")
	case !info.Mode().IsRegular():
		return model.Image{}, errors.New("it is not a regular file")
	case info.Size() > picture.MaxFile:
		return model.Image{}, picture.TooLarge(info.Size())
	}
	data, err := io.ReadAll(io.LimitReader(f, picture.MaxFile+1))
	if err != nil {
		return model.Image{}, err
	}
	return picture.Read(ctx, path, data)
}

// loadImages reads what -i names, all of it before anything begins.
func loadImages(ctx context.Context, paths []string) ([]model.Image, error) {
	if len(paths) > model.MaxImages {
		return nil, &usageError{err: fmt.Errorf("-i names %d images; a message has at most %d", len(paths), model.MaxImages)}
	}
	var images []model.Image
	for _, path := range paths {
		img, err := loadImage(ctx, path)
		if err != nil {
			return nil, &usageError{err: fmt.Errorf("-i: %w", err)}
		}
		images = append(images, img)
	}
	return images, nil
}

// imageFlag is -i, on each way of running that sends a message.
func imageFlag(f *pflag.FlagSet, paths *[]string) {
	f.StringArrayVarP(paths, "image", "i", nil, "show the model this image file with the first message; may be given several times")
}

// blind reports that the model is known to see no images.
func (c chosen) blind() bool { return c.limits.Vision == "no" }

// seesThem is the error for images that the model cannot see.
func (c chosen) seesThem(images []model.Image) error {
	if len(images) == 0 || !c.blind() {
		return nil
	}
	name := c.title(c.name)
	return &usageError{err: fmt.Errorf("the model %s cannot see images", name), hints: []string{
		"leave -i away, or choose a model that can: --model NAME",
		fmt.Sprintf("if it can: -c 'models.%q.vision=\"yes\"' (docs/config.md)", name),
	}}
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
		screen.Emit(event.Notice{Level: "info", Text: img.String() + " goes with your first message"})
	}
}

// imageLoader loads images whose paths the person pastes.
type imageLoader struct{ ses *session }

func (l imageLoader) Load(ctx context.Context, path string) (tui.Image, error) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return tui.Image{}, tui.ErrNoImage
	}
	img, err := loadImage(ctx, path)
	if errors.Is(err, picture.ErrFormat) {
		err = fmt.Errorf("%w: %w", tui.ErrNoImage, err)
	}
	if err != nil {
		return tui.Image{}, err
	}
	if err := l.ses.sees(); err != nil {
		return tui.Image{}, err
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
