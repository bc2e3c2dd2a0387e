package screen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"codeagent/approvals"
	"codeagent/cmd/codeagent/attach"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/commands"
	"codeagent/cmd/codeagent/conversation"
	"codeagent/cmd/codeagent/providers"
	"codeagent/cmd/codeagent/sessionscmd"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/event"
	"codeagent/hostfile"
	"codeagent/internal/picture"
	"codeagent/internal/visible"
	"codeagent/model"
	sessions "codeagent/session"
	"codeagent/tui"
	"codeagent/tui/clipboard"
	"codeagent/tui/footer"
	"codeagent/tui/lists"
	"codeagent/tui/picker"
	"codeagent/tui/setup"
)

// offer gives the screen the commands of this session beside the conversation. The tour
// supports only undo. It returns the list of sessions that can be resumed from here.
func offer(ses *conversation.Session, f cli.Flags, o *tui.Options, tell func(event.Event)) *sessionList {
	kept := &sessionList{s: ses.Workspace.Stdio, store: sessions.New(ses.Workspace.Paths.Sessions), here: ses.Workspace.Folder}
	o.Surroundings = surroundings{ses.Workspace, ses.OnBranch, ses.LoadAnswers}
	o.Approvals = policies{ses.Gate, ses}
	known := &commands.Models{Ses: ses, Show: tell}
	o.Models = models{known}
	work := modelSetup{ses.Workspace.Stdio, f, ses.Workspace.Paths, ses.ReadableRecords()}
	o.Setup = work
	o.SetUp = func(ctx context.Context, c setup.Choice) (leaves bool, err error) {
		if ses.Tour != nil { // a session with the model begins
			kept.next = &sessionscmd.ResumeTarget{Fresh: true, Folder: ses.Workspace.Folder, Model: c.Title()}
			return true, nil
		}
		now, p, err := work.of(ctx, c)
		if err != nil {
			return false, err
		}
		l := providers.Of(now).Listed(p, c.Model)
		known.Add(l)
		return false, known.Use(ctx, l.Title)
	}
	if ses.Tour != nil {
		return kept
	}
	if ses.Record != nil {
		kept.current = ses.Record.Log
	}
	o.Sessions, o.Images = kept, imageLoader{ses}
	o.Clipboard = attach.NewClipboard(ses.Workspace, ses.Sees)
	o.Background, o.Permissions = backgroundCommands{ses}, permissions{ses}
	o.Compact = func(ctx context.Context, focus string) error { return commands.Compact(ctx, ses, focus) }
	return kept
}

// surroundings are what the footer shows beside the events.
type surroundings struct {
	ws   *workspace.Workspace
	kept func(branch string)
	load func()
}

func (s surroundings) Branch(ctx context.Context) string {
	s.load() // the screen is there by now
	name := s.ws.Branch(ctx)
	s.kept(name)
	return name
}

func (s surroundings) Line(ctx context.Context, now footer.Standing) string {
	vars := map[string]string{
		"CODEAGENT_MODEL": now.Model, "CODEAGENT_FOLDER": now.Folder, "CODEAGENT_BRANCH": now.Branch,
		"CODEAGENT_SANDBOX": now.Sandbox, "CODEAGENT_APPROVALS": now.Approvals, "CODEAGENT_COST": now.Cost,
		"CODEAGENT_INPUT_TOKENS": strconv.Itoa(now.Used.Input), "CODEAGENT_OUTPUT_TOKENS": strconv.Itoa(now.Used.Output),
	}
	if now.Context >= 0 {
		vars["CODEAGENT_CONTEXT"] = strconv.Itoa(now.Context)
	}
	return s.ws.StatusLine(ctx, vars)
}

// policies are the approval policies of a session.
type policies struct {
	*approvals.Gate
	ses *conversation.Session
}

func (p policies) Modes() []approvals.Mode { return commands.Modes(p.ses) }

// outputFile reads a part of a file in the folder of outputs, and returns the file's size.
func outputFile(ctx context.Context, folder, file string, data []byte, at int64) (n int, size int64, err error) {
	if filepath.Dir(file) != filepath.Clean(folder) {
		return 0, 0, fmt.Errorf("%s is not a file with a command's output", visible.Line(file))
	}
	type part struct {
		n    int
		size int64
	}
	got, err := hostfile.Within(ctx, func() (part, error) {
		f, err := hostfile.Open(file)
		if err != nil {
			return part{}, err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return part{}, err
		}
		n, err := f.ReadAt(data, at)
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return part{n, info.Size()}, err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("the output was removed: newer ones needed the room")
	}
	return got.n, got.size, err
}

// imageLoader loads images whose paths the person pastes.
type imageLoader struct{ ses *conversation.Session }

func (l imageLoader) Load(ctx context.Context, path string) (model.Image, error) {
	if info, err := hostfile.Seen(path); err != nil || !info.Mode().IsRegular() {
		return model.Image{}, clipboard.ErrNoImage
	}
	img, err := attach.Image(ctx, l.ses.Workspace.Ground(), path)
	if errors.Is(err, picture.ErrFormat) {
		err = fmt.Errorf("%w: %w", clipboard.ErrNoImage, err)
	}
	if err == nil {
		err = l.ses.Sees()
	}
	return img, err
}

// models are the models that the person can switch to during a session.
type models struct{ *commands.Models }

func (m models) List(ctx context.Context) ([]picker.Row, error) {
	list, err := m.Models.List(ctx)
	out := []picker.Row{}
	for _, one := range list {
		out = append(out, picker.Row{Id: one.Name, Text: one.Name, About: one.About, Mark: one.Current})
	}
	return out, err
}

// backgroundCommands implements lists.Background for /ps.
type backgroundCommands struct{ ses *conversation.Session }

func (b backgroundCommands) List() []lists.Job {
	var out []lists.Job
	ports := b.ses.Jobs.Ports()
	for _, info := range b.ses.Jobs.List() {
		id := strconv.Itoa(info.ID)
		c := lists.Job{ID: id, Command: info.Text, Started: info.Started, Running: info.Running}
		if !info.Running {
			c.End, c.Ended, c.News = commands.Ending(info.Outcome), info.Started.Add(info.Outcome.Duration), !info.Reported
			c.Killed = info.Outcome.Interrupted
		}
		for _, p := range ports {
			if p.Job == info.ID {
				c.Ports = append(c.Ports, "http://"+p.At.String())
			}
		}
		c.Last = lastLine(string(b.ses.Jobs.Output(info.ID)))
		out = append(out, c)
	}
	slices.Reverse(out)
	return out
}

func lastLine(output string) string {
	output = strings.TrimSpace(output)
	return strings.TrimSpace(output[strings.LastIndexAny(output, "\r\n")+1:])
}

func (b backgroundCommands) Output(id string, most int) ([]byte, error) {
	n, err := strconv.Atoi(id)
	if err != nil || b.ses.Jobs.Find(n) == nil {
		return nil, errors.New("the output of this command is no longer kept")
	}
	data := b.ses.Jobs.Output(n)
	return data[max(len(data)-most, 0):], nil
}

func (b backgroundCommands) File(ctx context.Context, file string, data []byte, at int64) (int, int64, error) {
	return outputFile(ctx, b.ses.Workspace.Paths.Output, file, data, at)
}

func (b backgroundCommands) SendBack() (int, error) {
	numbers, err := b.ses.Jobs.SendBack()
	return len(numbers), err
}

func (b backgroundCommands) Kill(_ context.Context, id string) error {
	n, err := strconv.Atoi(id)
	if err != nil || !b.ses.Jobs.Kill(n) {
		return errors.New("it had ended already")
	}
	return nil
}
