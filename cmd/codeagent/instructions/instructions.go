// Package instructions reads the AGENTS.md files that the model follows, and decides which of them
// are trusted. It reads the user's own file through hostfile, and the project's files through a
// file worker in the sandbox. Start at Files.Current.
package instructions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"codeagent/cmd/codeagent/workspace"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/hostfile"
	"codeagent/prompts"
	"codeagent/sandbox"
)

const (
	// fileName is the file with the instructions of the user or a project.
	fileName = "AGENTS.md"
	// most is the limit for all of them together, in bytes: about 8,000 tokens of every
	// request.
	most = 32 << 10
	// timeLimit bounds the reading, so that a hanging file system does not block the turn.
	timeLimit = 10 * time.Second
)

// Files are the AGENTS.md files of a session: the one beside the user's settings, and those
// from the root of the repository down to the workspace. They are read before the first
// request, and again when one of them has changed.
type Files struct {
	// places are the paths where such a file may exist, the most general first; the first is
	// the user's own.
	places []string
	ws     *workspace.Workspace
	policy func() sandbox.Policy
	tell   func(event.Event)

	seen  []os.FileInfo // of each place when it was read; nil if absent
	texts []prompts.Instruction
}

// New returns the instructions of a session in ws. policy returns the session's live
// policy; tell receives a notice of which files are followed and which are not.
func New(ws *workspace.Workspace, policy func() sandbox.Policy, tell func(event.Event)) *Files {
	places := append([]string{filepath.Join(ws.Paths.Config, fileName)}, projectPlaces(ws.Folder)...)
	return &Files{places: places, ws: ws, policy: policy, tell: tell}
}

// projectPlaces lists where a project may have instructions: from the folder with its .git,
// if there is one, down to the workspace.
func projectPlaces(folder string) []string {
	places := workspace.ProjectFolders(folder)
	for i, dir := range places {
		places[i] = filepath.Join(dir, fileName)
	}
	return places
}

// Current returns the instructions to follow now.
func (in *Files) Current() []prompts.Instruction {
	found := make([]os.FileInfo, len(in.places))
	for i, place := range in.places {
		if info, err := hostfile.Seen(place); err == nil {
			found[i] = info
		}
	}
	if slices.EqualFunc(found, in.seen, sameFile) {
		return in.texts
	}
	first := in.seen == nil
	in.seen, in.texts = found, nil
	in.read(found)
	switch names := in.names(); {
	case names != "" && first:
		in.say(word.LevelInfo, "following "+names)
	case names != "":
		// A command may have changed it, and the model follows it like the user's words.
		in.say(word.LevelWarning, fileName+" was changed; following now: "+names)
	case !first:
		in.say(word.LevelWarning, "no "+fileName+" is followed now")
	}
	return in.texts
}

// sameFile reports whether a file is unchanged since it was read.
func sameFile(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// read reads the files again. The user's own comes first, then the nearest: if the limit is
// exceeded, the more general files are cut, with a notice.
func (in *Files) read(found []os.FileInfo) {
	ctx, cancel := context.WithTimeout(context.Background(), timeLimit)
	defer cancel()
	// The first request would contain whatever a link leads to.
	project := in.ws.ProjectFiles(ctx, in.policy(), filepath.Dir(in.places[1]))
	defer project.Close()
	left := int64(most)
	texts := make([]prompts.Instruction, len(found))
	for i := range found {
		// The order is 0, then the last down to the second.
		at := (len(found) - i) % len(found)
		if found[at] == nil {
			continue
		}
		text, err := in.one(ctx, project, at, found[at], left)
		if err != nil {
			in.say(word.LevelWarning, fmt.Sprintf("%s is not followed: %v", in.places[at], err))
			continue
		}
		left -= int64(len(text))
		texts[at] = prompts.Instruction{Path: in.places[at], Text: text, Size: max(found[at].Size(), int64(len(text)))}
		switch size := found[at].Size(); {
		case size > 0 && text == "":
			in.say(word.LevelWarning, fmt.Sprintf("%s is left out: all of these files together may have %d bytes", in.places[at], most))
		case size > int64(len(text)):
			in.say(word.LevelWarning, fmt.Sprintf("the model is given the first %d of the %d bytes of %s: all of these files together may have %d", len(text), size, in.places[at], most))
		}
	}
	in.texts = slices.DeleteFunc(texts, func(t prompts.Instruction) bool { return t.Path == "" })
}

// one reads at most most bytes of the file at the place at; a cut is at a line end.
func (in *Files) one(ctx context.Context, project *workspace.ProjectFiles, at int, info os.FileInfo, most int64) (string, error) {
	if !info.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	var data []byte
	err := workspace.OwnerTrusted(info, filepath.Dir(in.places[len(in.places)-1]))
	switch {
	case err != nil || most <= 0:
	case at == 0:
		// The user's own place may be a link, to a folder of dotfiles.
		var file string
		if file, err = in.ws.Ground().Resolve("/", in.places[at]); err == nil {
			data, err = hostfile.ReadStart(ctx, file, most)
		}
	default:
		data, err = project.Read(in.places[at], most)
	}
	switch {
	case err != nil:
		return "", err
	case slices.Contains(data, 0):
		return "", errors.New("it is not text")
	}
	if int64(len(data)) < info.Size() {
		data = data[:bytes.LastIndexByte(data, '\n')+1]
	}
	if !utf8.Valid(data) {
		return "", errors.New("it is not UTF-8 text")
	}
	return string(data), nil
}

// Present are the paths of the files that exist now; whether each is trusted is decided when it is read.
func (in *Files) Present() (names []string) {
	for _, place := range in.places {
		if info, err := hostfile.Seen(place); err == nil && info.Mode().IsRegular() {
			names = append(names, place)
		}
	}
	return names
}

func (in *Files) names() string {
	var names []string
	for _, t := range in.texts {
		if t.Text != "" || t.Size == 0 { // otherwise it is left out
			names = append(names, t.Path)
		}
	}
	return strings.Join(names, ", ")
}

func (in *Files) say(level word.Level, text string) {
	in.tell(event.Notice{Level: level, Text: text})
}
