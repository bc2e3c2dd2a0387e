package tools

import (
	"context"
	"fmt"
	"strings"

	"codeagent/approvals"
	"codeagent/event/word"
	"codeagent/exec/worker"
	"codeagent/internal/picture"
	"codeagent/model"
	"codeagent/sandbox"
)

const viewImageExample = `{"path": "docs/screenshot.png"}`

type viewImageArguments struct {
	Path string `json:"path" jsonschema:"The image file, absolute or relative to the workspace."`
}

type viewImageTool struct{ paths }

func (t *viewImageTool) plan(a viewImageArguments) (*call, error) {
	path, err := t.canonical(a.Path)
	if err != nil {
		return nil, err
	}
	action := approvals.Action{Tool: "view_image", Kind: word.KindRead, Title: oneLine("view " + t.show(path)), Folder: t.workspace, Paths: []string{path}}
	return &call{action: action, run: func(ctx context.Context, p sandbox.Policy, s Stage) (Result, error) {
		return t.run(ctx, p, s, path)
	}}, nil
}

func (t *viewImageTool) run(ctx context.Context, p sandbox.Policy, s Stage, path string) (Result, error) {
	files, r, err := t.open(ctx, p, s, path)
	if files == nil {
		return r, err
	}
	defer files.Close()
	data, size, err := wholeImage(files, path)
	if err != nil {
		return t.unreadable(ctx, path, err)
	}
	return t.shown(ctx, s, path, data, size)
}

// wholeImage reads a file if its beginning shows that it is an image. Of any other file it
// reads only the beginning, and of a file too large for an image not all. size is the file's
// size.
func wholeImage(files *worker.Client, path string) (data []byte, size int64, err error) {
	for len(data) <= picture.MaxFile {
		piece, info, err := files.ReadFile(path, int64(len(data)), readChunk)
		if err != nil {
			return nil, 0, err
		}
		data = append(data, piece...)
		size = max(info.Size, int64(len(data))) // files in /proc have size 0
		if len(piece) < readChunk || size > picture.MaxFile || picture.Type(data) == "" {
			break
		}
	}
	return data, size, nil
}

// shown returns the result with the image, or with the reason why it cannot be shown.
func (ps paths) shown(ctx context.Context, s Stage, path string, data []byte, size int64) (Result, error) {
	name := ps.show(path)
	img, err := picture.Read(ctx, name, data)
	switch {
	case ctx.Err() != nil:
		return Result{}, context.Cause(ctx)
	case size > picture.MaxFile:
		return failed("%s cannot be shown: %v", name, picture.TooLarge(size)), nil
	case err != nil:
		return failed("%s cannot be shown: %v", name, err), nil
	case s.Blind:
		return failed("%s is an image, and the model in use cannot see images. Work without it: ask the user to describe it, or extract what you need with a program.", img), nil
	}
	r := done(fmt.Sprintf("%s follows.", img), strings.TrimPrefix(img.String(), name+" "))
	r.Images = []model.Image{img}
	return r, nil
}
