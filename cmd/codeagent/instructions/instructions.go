// Package instructions reads the AGENTS.md files that the model follows, or what stands for them, and decides
// which of them are trusted. It reads the user's own file through hostfile, and the project's files through a
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
	"sort"
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
	// mostRules is how many entries of a folder of rules are looked at.
	mostRules = 100
)

// others are the files of other agents, and folders of them, that count where no AGENTS.md stands beside them.
// The model follows a later one before an earlier.
var others = []string{".github/copilot-instructions.md", ".cursorrules", ".cursor/rules", "GEMINI.md", "CLAUDE.md"}

// Files are the instructions of a session: the AGENTS.md beside the user's settings, and those
// from the root of the repository down to the workspace. They are read before the first
// request, and again when one of them has changed.
type Files struct {
	// places are the paths where an AGENTS.md may exist, the most general first; the first is
	// the user's own.
	places []string
	ws     *workspace.Workspace
	policy func() sandbox.Policy
	tell   func(event.Event)

	seen  []file // when they were read; nil before
	texts []prompts.Instruction
}

// file is one that exists; info is nil for the user's own, the first of a list, where it is absent.
type file struct {
	path string
	info os.FileInfo
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

// find looks for the files that exist now.
func (in *Files) find() (found []file) {
	for i, place := range in.places {
		info, err := hostfile.Seen(place)
		if i == 0 || err == nil {
			found = append(found, file{place, info})
			continue
		}
		for _, name := range others {
			for _, one := range beside(filepath.Join(filepath.Dir(place), name)) {
				if !slices.ContainsFunc(found, func(f file) bool { return os.SameFile(f.info, one.info) }) {
					found = append(found, one)
				}
			}
		}
	}
	return found
}

// beside returns the file at place, or the rules in the folder there.
func beside(place string) (found []file) {
	info, err := hostfile.Seen(place)
	if err != nil {
		return nil
	}
	entries, err := hostfile.ReadDir(place, mostRules)
	if err != nil {
		return []file{{place, info}}
	}
	for _, e := range entries {
		path := filepath.Join(place, e.Name())
		if info, err := hostfile.Seen(path); err == nil && filepath.Ext(path) == ".mdc" {
			found = append(found, file{path, info})
		}
	}
	sort.Slice(found, func(i, j int) bool { return found[i].path < found[j].path })
	return found
}

// Current returns the instructions to follow now.
func (in *Files) Current() []prompts.Instruction {
	found := in.find()
	if slices.EqualFunc(found, in.seen, sameFile) {
		return in.texts
	}
	before := in.seen
	in.seen, in.texts = found, nil
	in.read(found)
	switch names := in.names(); {
	case names != "" && before == nil:
		in.say(word.LevelInfo, "following "+names)
	case names != "":
		// A command may have changed it, and the model follows it like the user's words.
		in.say(word.LevelWarning, changed(before, found)+" was changed; following now: "+names)
	case before != nil:
		in.say(word.LevelWarning, "no "+fileName+" is followed now")
	}
	return in.texts
}

// changed names the first file that only one of the lists has as it is.
func changed(before, now []file) string {
	for _, lists := range [][2][]file{{now, before}, {before, now}} {
		for _, f := range lists[0] {
			if !slices.ContainsFunc(lists[1], func(g file) bool { return sameFile(f, g) }) {
				return filepath.Base(f.path)
			}
		}
	}
	return "their order"
}

// sameFile reports whether a file is unchanged since it was read.
func sameFile(a, b file) bool {
	if a.path != b.path || a.info == nil || b.info == nil {
		return a == b
	}
	return os.SameFile(a.info, b.info) && a.info.Size() == b.info.Size() && a.info.ModTime().Equal(b.info.ModTime())
}

// read reads the files again. The user's own comes first, then the nearest: if the limit is
// exceeded, the more general files are cut, with a notice.
func (in *Files) read(found []file) {
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
		path, info := found[at].path, found[at].info
		if info == nil {
			continue
		}
		text, err := in.one(ctx, project, at, left)
		if err != nil {
			in.say(word.LevelWarning, fmt.Sprintf("%s is not followed: %v", path, err))
			continue
		}
		left -= int64(len(text))
		texts[at] = prompts.Instruction{Path: path, Text: text, Size: max(info.Size(), int64(len(text)))}
		switch size := info.Size(); {
		case size > 0 && text == "":
			in.say(word.LevelWarning, fmt.Sprintf("%s is left out: all of these files together may have %d bytes", path, most))
		case size > int64(len(text)):
			in.say(word.LevelWarning, fmt.Sprintf("the model is given the first %d of the %d bytes of %s: all of these files together may have %d", len(text), size, path, most))
		}
	}
	in.texts = slices.DeleteFunc(texts, func(t prompts.Instruction) bool { return t.Path == "" })
}

// one reads at most most bytes of the file in.seen[at]; a cut is at a line end.
func (in *Files) one(ctx context.Context, project *workspace.ProjectFiles, at int, most int64) (string, error) {
	place, info := in.seen[at].path, in.seen[at].info
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
		if file, err = in.ws.Ground().Resolve("/", place); err == nil {
			data, err = hostfile.ReadStart(ctx, file, most)
		}
	default:
		data, err = project.Read(place, most)
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

// Place is a file that the person's words can be added to. New: it does not exist yet.
type Place struct {
	Path     string
	Own, New bool
}

// Places are the user's own file and the project's. Where the project has none, an AGENTS.md stands for it.
func (in *Files) Places() (out []Place) {
	found := in.find()
	if len(found) == 1 {
		found = append(found, file{path: in.places[1]})
	}
	for i, f := range found {
		if f.info == nil || f.info.Mode().IsRegular() {
			out = append(out, Place{f.path, i == 0, f.info == nil})
		}
	}
	return out
}

func (in *Files) names() string {
	var names []string
	for _, t := range in.texts {
		if t.Text != "" || t.Size == 0 { // otherwise it is left out
			names = append(names, t.Path+imports(t.Text))
		}
	}
	return strings.Join(names, ", ")
}

// imports says that a text imports others, by lines such as "@docs/style.md", which are not followed.
func imports(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); len(line) > 1 && line[0] == '@' && !strings.Contains(line, " ") {
			return " (without what its @ lines import)"
		}
	}
	return ""
}

func (in *Files) say(level word.Level, text string) {
	in.tell(event.Notice{Level: level, Text: text})
}
