// Package tour is the model of the built-in tour: a script, served on loopback over the real
// chat API, that demonstrates codeagent. Everything except the model is real: commands run
// in the user's folder and sandbox, denials are the sandbox's, and what the user allows is
// allowed.
//
//	look (allowed) -> edit (a diff) -> write outside (refused)
//	  -> ask for that one path -> the same command again -> network (refused)
//	  -> what happened, and how to set a real model
//
// If a held call can wait for a person's answer, the tour asks for the write before it tries
// it, and the network call is held:
//
//	look -> edit -> ask for one path outside -> write -> network (held, answered,
//	the same command continues) -> what happened
//
// The script reacts to its input (script.go) and claims only what it has seen: if a policy
// allows what the script expects to be denied, the script says so.
package tour

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"codeagent/hostfile"
	"codeagent/internal/scripted"
)

const (
	// Prompt is the message that starts the tour.
	Prompt = "Show me around: play the built-in tour."
	// Model is the name under which the script answers.
	Model = "codeagent-tour"

	// fileName is the file that the tour creates in the workspace.
	fileName = "codeagent-tour.txt"
	// maxNames bounds the search for an unused name.
	maxNames = 100
	// tokensPerSecond is a pace at which a person can read.
	tokensPerSecond = 40
	greeting        = "hello from outside the sandbox\n"
)

// fileText is the content of the tour's file in the workspace, and outsideText that of the
// file outside. Made recognises the tour's files by them.
const (
	fileText = "This file was made by codeagent's built-in tour.\n" +
		"A tool call of the model wrote it, in the sandbox, where writing\n" +
		"is allowed. You can remove it.\n"
	outsideText = "codeagent was here"
)

// Options configures the tour.
type Options struct {
	// Workspace is codeagent's workspace, absolute.
	Workspace string
	// Outside is the file that the tour tries to write, absolute and outside the workspace.
	// If it exists already, the tour uses a numbered name beside it.
	Outside string
	// Attended: a person reads and can answer, so the text comes at a readable pace.
	Attended bool
	// NotHeld is the reason why a connection is not held while the person is asked; empty if it is.
	NotHeld string
}

// Tour is a running tour.
type Tour struct {
	// BaseURL is the address of its model.
	BaseURL string
	// Prompt is the message that starts it.
	Prompt string

	options Options
	server  *scripted.Server
	door    *scripted.Door
	waits   atomic.Bool

	mu   sync.Mutex
	runs []stage // guarded by mu
}

// stage is one run of the tour: the files that it makes, neither of which existed before.
type stage struct{ file, outside string }

// Start serves the tour until Close or until ctx is done.
func Start(ctx context.Context, o Options) (*Tour, error) {
	if !filepath.IsAbs(o.Workspace) || !filepath.IsAbs(o.Outside) {
		return nil, errors.New("tour: the workspace and the file outside of it must be absolute paths")
	}
	t := &Tour{Prompt: Prompt, options: o}
	t.waits.Store(true)
	var err error
	if t.door, err = scripted.OpenDoor(ctx, greeting); err != nil {
		return nil, fmt.Errorf("tour: %w", err)
	}
	if t.server, err = scripted.Start(ctx, t.answer); err != nil {
		t.door.Close()
		return nil, fmt.Errorf("tour: %w", err)
	}
	t.BaseURL = t.server.URL
	return t, nil
}

// Waits reports whether a refused call should be held now: the tour first shows a denial
// that is not held.
func (t *Tour) Waits() bool { return t.waits.Load() }

// Close ends the tour. Its files stay, see Made.
func (t *Tour) Close() {
	t.server.Close()
	t.door.Close()
}

// Made returns the files that the tour wrote and that still hold its content; absolute, in
// the order in which they were made. A file that was changed since is not the tour's any
// more and not listed.
func (t *Tour) Made() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var made []string
	for _, s := range t.runs {
		if t.ours(s.file, fileText) {
			made = append(made, s.file)
		}
		// A grant for a new name may leave an empty file.
		if t.ours(s.outside, outsideText+"\n") || t.ours(s.outside, "") {
			made = append(made, s.outside)
		}
	}
	return slices.Compact(made)
}

// ours reports whether path is a regular file that holds exactly text.
func (t *Tour) ours(path, text string) bool {
	data, err := hostfile.Read(context.Background(), path, int64(len(text)))
	return err == nil && string(data) == text
}

// stage returns run number n of the tour, from 1; it begins with the first call.
func (t *Tour) stage(n int) stage {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.runs) < n {
		t.runs = append(t.runs, stage{
			file:    unusedName(filepath.Join(t.options.Workspace, fileName)),
			outside: unusedName(t.options.Outside),
		})
	}
	return t.runs[n-1]
}

// unusedName returns path, or path with a number before its extension, so that the name does
// not exist. If all names are taken it returns path: the edit then fails, and nothing is
// overwritten.
func unusedName(path string) string {
	ext := filepath.Ext(path)
	for n := 1; n <= maxNames; n++ {
		name := path
		if n > 1 {
			name = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(path, ext), n, ext)
		}
		if _, err := (hostfile.OS{}).Lstat(name); errors.Is(err, fs.ErrNotExist) {
			return name
		}
	}
	return path
}
