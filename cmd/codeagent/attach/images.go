// Package attach reads what a person adds to a message: images by their paths, and the
// content of the clipboard. It reads files and runs the desktop's own programs, through
// hostfile and never where a command may write. Read Clipboard.Read first.
package attach

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"codeagent/agent"
	"codeagent/cmd/codeagent/cli"
	"codeagent/hostfile"
	"codeagent/internal/picture"
	"codeagent/model"

	"github.com/spf13/pflag"
)

// Image reads an image that the person named, with the person's own rights. Neither a
// command nor the model chooses the file, and links that a command may have made are not
// followed.
func Image(ctx context.Context, g hostfile.Ground, path string) (model.Image, error) {
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

// Images reads the files of -i, all of them before anything else starts.
func Images(ctx context.Context, g hostfile.Ground, paths []string) ([]model.Image, error) {
	if len(paths) > agent.MaxImages {
		return nil, cli.Usage(fmt.Errorf("-i names %d images; a message has at most %d", len(paths), agent.MaxImages))
	}
	var images []model.Image
	for _, path := range paths {
		img, err := Image(ctx, g, path)
		if err != nil {
			return nil, cli.Usage(fmt.Errorf("-i: %w", err))
		}
		images = append(images, img)
	}
	return images, nil
}

// Flag adds -i, for each command that sends a message.
func Flag(f *pflag.FlagSet, paths *[]string) {
	f.StringArrayVarP(paths, "image", "i", nil, "show the model this image file with the first message; may be given several times")
}
