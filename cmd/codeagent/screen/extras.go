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
	"codeagent/cmd/codeagent/sessionscmd"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/config/server"
	"codeagent/hostfile"
	"codeagent/prompts"
	"codeagent/tui"
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
	o.Extras.Setting = func(ctx context.Context, key, value string) (string, error) { return keepSetting(ctx, ws, key, value) }
	if ses.Tour != nil {
		return
	}
	if ses.Servers != nil {
		o.Extras.Servers, o.Extras.ServerOffers = serverList{ses}, serverList{ses}
	}
	o.Extras.Feedback = func(ctx context.Context) (string, error) { return feedback(ctx, ses, f) }
	o.Extras.Init, o.Extras.Plan = prompts.Init, prompts.PlanFirst
	o.Extras.Review = func(ctx context.Context, of string) (string, error) {
		what, c, err := ws.ToReview(ctx, of)
		return prompts.Reviewing(what, c.Text, c.Cut), err
	}
	o.Extras.Effort, o.Extras.Thinks = ses.Think, ws.Config.ReasoningEffort
	o.Extras.Own = func(ctx context.Context) ([]prompts.Own, error) { return commands.Own(ctx, ses) }
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

// keepSetting writes a setting to the user's own file, and says where, and what comes before it at the next start.
func keepSetting(ctx context.Context, ws *workspace.Workspace, key, value string) (string, error) {
	err := workspace.ChangeSettings(ctx, ws.Paths, func(text []byte) (out []byte, err error) {
		rest := value
		// Beside model_provider in one file, a prefix of the model chooses no provider.
		if provider, name, prefixed := strings.Cut(value, "/"); key == "model" && prefixed && ws.Config.ModelProvider != "" {
			if text, err = server.WithValue(text, "model_provider", provider); err != nil {
				return nil, err
			}
			rest = name
		}
		return server.WithValue(text, key, rest)
	})
	if err != nil {
		return "", fmt.Errorf("cannot keep %s: %w", key, cli.InWords(err))
	}
	words := fmt.Sprintf("kept in %s: %s = %q", ws.Paths.File, key, value)
	if from := ws.Config.Origin(key); from.Kind != "default" && from.Kind != "file" {
		words += "\nat the next start " + from.String() + " comes before it, if it is set then"
	}
	return words, nil
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
	return file, hostfile.Write(file, []byte(b.String()), 0o600)
}
