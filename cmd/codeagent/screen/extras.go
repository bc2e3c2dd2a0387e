package screen

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/commands"
	"codeagent/cmd/codeagent/conversation"
	"codeagent/cmd/codeagent/doctor"
	"codeagent/cmd/codeagent/instructions"
	"codeagent/cmd/codeagent/sessionscmd"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/config"
	"codeagent/hostfile"
	"codeagent/prompts"
	"codeagent/tui"
	"codeagent/tui/fill"
	"codeagent/tui/memory"
	"codeagent/tui/paint"
	"codeagent/tui/picker"
	"codeagent/tui/settings"
)

// offerExtras gives the screen its commands of one step. f is what codeagent was started with.
func offerExtras(ses *conversation.Session, f cli.Flags, kept *sessionList, o *tui.Options) {
	ws := ses.Workspace
	o.Extras.Sandbox = func(context.Context) (string, error) {
		return commands.Sandbox(ses), nil
	}
	o.Extras.Skills = func(context.Context) (string, error) { return ses.Extensions.Page(), nil }
	o.Extras.Doctor = func(ctx context.Context) (string, error) { return doctor.Report(ctx, ws.Stdio, f) }
	o.Extras.Diff = func(ctx context.Context) (string, error) {
		_, c, err := ws.Diff(ctx, "")
		if c.Cut {
			c.Text += "\n(the rest is left out)"
		}
		return c.Text, err
	}
	o.Extras.Settings = func(ctx context.Context) ([]settings.Setting, error) { return commonSettings(ctx, ws, f) }
	o.Extras.Setting = func(ctx context.Context, key, value string) (string, error) {
		return keepSetting(ctx, ws, f, key, value)
	}
	if ses.Tour != nil {
		return
	}
	if ses.Servers != nil {
		o.Extras.Servers, o.Extras.ServerOffers = serverList{ses}, serverList{ses}
	}
	o.Extras.Context = func(context.Context) (fill.Context, error) {
		f, err := ses.Agent.Fill()
		return fill.Context{Parts: []fill.Part{
			{Name: "system text", Tokens: f.System}, {Name: "instructions", Tokens: f.Instructions}, {Name: "tools", Tokens: f.Tools}, {Name: "servers' tools", Tokens: f.Servers},
			{Name: "files and results", Tokens: f.Results}, {Name: "conversation", Tokens: f.Conversation},
		}, Limit: f.Limit, Reserve: f.Reserve, Assumed: f.Assumed, Gain: f.Gain}, err
	}
	o.Extras.Feedback = func(ctx context.Context, _ string) (string, error) { return feedback(ctx, ses, f) }
	o.Extras.Review = func(ctx context.Context, of string) (prompts.Prompt, error) {
		what, c, err := ws.ToReview(ctx, of)
		return prompts.Reviewing(what, c.Text, c.Cut), err
	}
	o.Extras.Effort, o.Extras.Thinks = ses.Think, ws.Config.ReasoningEffort
	o.Extras.Memory = memory.List{Places: func() (rows []picker.Row) {
		for _, at := range instructions.New(ws, nil, nil).Places() {
			source := "this project"
			if at.Own {
				source = "yours, in every project"
			}
			if at.New {
				source += ", new"
			}
			rows = append(rows, picker.Row{Id: at.Path, Text: readable(ws, at.Path), About: source})
		}
		return rows
	}, Add: func(ctx context.Context, path, line string) (string, error) {
		undone, err := ses.Remember(ctx, path, line)
		words := "added to " + readable(ws, path) + ": your next message is answered with it"
		if undone {
			words += "; /undo takes it back"
		}
		return words, inWords(err)
	}}
	o.Extras.Own = func(ctx context.Context) ([]prompts.Own, error) { return commands.Own(ctx, ses) }
	o.Extras.OnDraft = ws.Draft != nil
	o.Extras.Fresh = func(context.Context) error {
		kept.next = &sessionscmd.ResumeTarget{Fresh: true, Folder: ws.Folder, Effort: ses.Options.Effort}
		if ses.Record != nil && ses.Record.Log.Kept() {
			kept.next.ID = ses.Record.Log.ID()
		}
		return nil
	}
	if ses.Record == nil {
		return
	}
	log := ses.Record.Log
	if ws.Draft == nil {
		o.Extras.Draft = func(context.Context) error {
			kept.next = again(ses, cli.NewDraft, "")
			return nil
		}
	}
	o.Extras.Fork = func(context.Context) error {
		if !log.Kept() {
			return commands.ErrNoMessage
		}
		kept.next = &sessionscmd.ResumeTarget{ID: log.ID(), Folder: ws.Folder, Fork: true, After: true, Effort: ses.Options.Effort}
		return nil
	}
	o.Extras.Keep = func(_ context.Context, folder string) (string, error) { return conversation.Keep(ses, folder) }
	o.Extras.Export = func(_ context.Context, file string) (string, error) { return commands.Export(ses, file) }
}

// commonSettings are the settings that people change, as they are in the file now.
func commonSettings(ctx context.Context, ws *workspace.Workspace, f cli.Flags) (out []settings.Setting, err error) {
	now, err := workspace.Settings(ctx, ws.Stdio, f)
	if err != nil {
		return nil, inWords(err)
	}
	for _, s := range now.Common() {
		source := s.Origin.String()
		if s.Origin.Line > 0 {
			source = fmt.Sprintf("%s:%d", filepath.Base(s.Origin.Name), s.Origin.Line)
		}
		out = append(out, settings.Setting{
			Key: s.Key, Value: s.Value, Source: source, About: strings.ReplaceAll(s.Doc, "`", ""), Choices: s.Choices, Fixed: !s.Origin.InFile(),
		})
	}
	return out, nil
}

// keepSetting writes a setting to the user's own file, and says where, and what comes before it at the next start.
func keepSetting(ctx context.Context, ws *workspace.Workspace, f cli.Flags, key, value string) (string, error) {
	typed, err := config.Parse(key, value)
	var now config.Config // another setting may have been kept since the start
	if err == nil {
		now, err = workspace.Settings(ctx, ws.Stdio, f)
	}
	if err == nil {
		err = keepSettings(ctx, ws.Paths, written(now, key, typed))
	}
	if err != nil {
		return "", fmt.Errorf("cannot keep %s: %w", key, cli.InWords(err))
	}
	return fmt.Sprintf("kept in %s: %s = %#v", paint.Tilde(ws.Paths.File, ws.Stdio.Env("HOME")), key, typed) + before(now, key), nil
}

// written is a setting as the file holds it. Beside model_provider in one file, a prefix of the model chooses no
// provider.
func written(c config.Config, key string, value any) []entry {
	if name, ok := value.(string); ok && key == "model" && c.ModelProvider != "" {
		if provider, rest, prefixed := strings.Cut(name, "/"); prefixed {
			return []entry{{"model_provider", provider}, {key, rest}}
		}
	}
	return []entry{{key, value}}
}

// feedback writes a file for a report about codeagent: no word of the conversation, no name of a
// file of the project, and of the settings only those that cannot hold a secret.
func feedback(ctx context.Context, ses *conversation.Session, f cli.Flags) (string, error) {
	ws := ses.Workspace
	var b strings.Builder
	fmt.Fprintf(&b, "# Feedback about codeagent\n\nVersion %s on %s/%s\n\n## What happened\n\n(write it here)\n\n## Doctor\n\n", ws.Process.Version, runtime.GOOS, runtime.GOARCH)
	report, err := doctor.Report(ctx, ws.Stdio, f)
	report = strings.ReplaceAll(report, ws.Folder, "WORKSPACE")
	if home := ws.Stdio.Env("HOME"); home != "" {
		report = strings.ReplaceAll(report, home, "~")
	}
	if err != nil {
		report += "\n" + err.Error()
	}
	fmt.Fprintf(&b, "```\n%s\n```\n\n## Settings that differ from the defaults\n\n", strings.TrimSpace(report))
	for _, line := range ws.Config.Masked() {
		fmt.Fprintf(&b, "- `%s`\n", line)
	}
	file := filepath.Join(ws.Paths.State, "feedback-"+time.Now().Format("20060102-150405")+".md")
	words := "written to " + file + "\nIt has no content of the conversation and no keys. Nothing was sent: read it, and send it yourself."
	return words, hostfile.Write(file, []byte(b.String()), 0o600)
}
