package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"codeagent/internal/picture"
	"codeagent/model"
)

// loadImage reads an image that the person named, with the person's own rights:
// no command and no model has a say in which.
func loadImage(path string) (model.Image, error) {
	img, err := readImage(path)
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		err = e.Err
	}
	if err != nil {
		return model.Image{}, fmt.Errorf("image %s: %w", path, err)
	}
	return img, nil
}

func readImage(path string) (model.Image, error) {
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
	return picture.Read(path, data)
}

// blind reports that the model is known to see no images.
func (c chosen) blind() bool { return c.limits.Vision == "no" }
