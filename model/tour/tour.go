// Package tour is the model of the built-in tour: a script, served on loopback
// over the real chat wire, that shows what codeagent is for. Everything but the
// model is real: its commands run in the user's folder and sandbox, the
// refusals are the sandbox's, and what the user allows is what gets allowed.
//
//	look (allowed) -> edit (a diff) -> write outside (refused)
//	  -> ask for that one path -> the same command again -> network (refused)
//	  -> what happened, and how to set a real model
//
// Where a refused call can wait for a person's answer the write is asked for
// before it is tried, and the network call waits:
//
//	look -> edit -> ask for one path outside -> write -> network (held, answered,
//	the same command goes on) -> what happened
//
// The script reacts to its input (script.go) and claims nothing that it
// has not seen: where a policy allows what it expects to be refused, it says so.
package tour

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"codeagent/hostfile"
	"codeagent/internal/scripted"
)

const (
	// Prompt is the message that starts the tour.
	Prompt = "Show me around: play the built-in tour."
	// Model is the name under which the script answers.
	Model = "codeagent-tour"

	// fileName is the file that the tour adds to the workspace.
	fileName = "codeagent-tour.txt"
	// maxNames bounds the search for a name that nothing has yet.
	maxNames = 100
	// tokensPerSecond is a pace that can be read along.
	tokensPerSecond = 40
	greeting        = "hello from outside the sandbox\n"
	checkTime       = 10 * time.Second
)

// fileText is what the tour's file in the workspace says, and outsideText what
// the one outside says: by them Made knows the tour's own work.
const (
	fileText = "This file was made by codeagent's built-in tour.\n" +
		"A tool call of the model wrote it, in the sandbox, where writing\n" +
		"is allowed. You can remove it.\n"
	outsideText = "codeagent was here"
)

// Options say where the tour takes place.
type Options struct {
	// Workspace is the folder that codeagent works in, absolute.
	Workspace string
	// Outside is the file that the tour tries to write, absolute and outside of
	// the workspace. Where it exists already the tour takes a numbered name
	// beside it.
	Outside string
	// Host is the address of the listener that the tour opens and then may not
	// reach; empty: a free port of 127.0.0.1.
	Host string
	// Path is the list of folders in which a program for the network call is
	// looked for; empty: $PATH.
	Path string
	// Attended: somebody reads along and can answer; the text then comes at a
	// speed that can be read.
	Attended bool
	// Held: a call that the sandbox refuses waits while who attends is asked.
	Held bool
	// NotHeld says why a connection does not; empty where it does.
	NotHeld string
}

// Tour is a running tour.
type Tour struct {
	// BaseURL is where its model answers.
	BaseURL string
	// Prompt starts it.
	Prompt string

	options Options
	server  *scripted.Server
	door    *scripted.Door
	reach   string // the command that knocks at the door; empty: no program can
	waits   atomic.Bool

	mu   sync.Mutex
	runs []stage // guarded by mu
}

// stage is one playing of the tour: the files that it makes, neither of which
// existed when it began, and how many connections the listener saw.
type stage struct {
	file, outside string
	knocks        int
}

// Start serves the tour until Close or until ctx is done.
func Start(ctx context.Context, o Options) (*Tour, error) {
	if !filepath.IsAbs(o.Workspace) || !filepath.IsAbs(o.Outside) {
		return nil, errors.New("tour: the workspace and the file outside of it must be absolute paths")
	}
	if o.Host == "" {
		o.Host = "127.0.0.1:0"
	}
	if o.Path == "" {
		o.Path = os.Getenv("PATH")
	}
	t := &Tour{Prompt: Prompt, options: o}
	t.waits.Store(true)
	var err error
	if t.door, err = scripted.OpenDoor(ctx, o.Host, greeting); err != nil {
		return nil, fmt.Errorf("tour: %w", err)
	}
	if err = t.check(ctx); err == nil {
		t.server, err = scripted.Start(ctx, t.answer)
	}
	if err != nil {
		t.door.Close()
		return nil, fmt.Errorf("tour: %w", err)
	}
	t.BaseURL = t.server.URL
	t.reach = knock(t.door.Addr, o.Path)
	return t, nil
}

// check connects to the tour's own listener: only when it answers does a
// refusal later prove anything.
func (t *Tour) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", t.door.Addr)
	if err != nil {
		return fmt.Errorf("the tour cannot reach its own listener: %w", err)
	}
	defer c.Close()
	if at, ok := ctx.Deadline(); ok {
		_ = c.SetDeadline(at)
	}
	if said, err := io.ReadAll(c); err != nil || string(said) != greeting {
		return fmt.Errorf("the tour's own listener does not answer: %w", errors.Join(err, errors.New("no greeting")))
	}
	return nil
}

// Waits reports whether a refused call should wait for an answer by now: the tour
// shows first what a refusal looks like that does not.
func (t *Tour) Waits() bool { return t.waits.Load() }

// Close ends the tour. The files that it made stay, see Made.
func (t *Tour) Close() {
	t.server.Close()
	t.door.Close()
}

// Made are the files that exist because of the tour and hold what it wrote;
// absolute, in the order of their making. What was changed since is not the
// tour's any more and not listed.
func (t *Tour) Made() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var made []string
	for _, s := range t.runs {
		if t.ours(s.file, fileText) {
			made = append(made, s.file)
		}
		// An empty file is what a grant for a new name may leave behind.
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

// stage is the playing number n, from 1; it begins with the first call.
func (t *Tour) stage(n int) stage {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.runs) < n {
		t.runs = append(t.runs, stage{
			file:    unusedName(filepath.Join(t.options.Workspace, fileName)),
			outside: unusedName(t.options.Outside),
			knocks:  t.door.Knocks(),
		})
	}
	return t.runs[n-1]
}

// unusedName is path, or path with a number before its extension, such that
// nothing has that name. When all are taken it is path itself: the edit then
// fails by itself, and nothing is overwritten.
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
