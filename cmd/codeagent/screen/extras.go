package screen

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/conversation"
	"codeagent/cmd/codeagent/doctor"
	"codeagent/cmd/codeagent/sessionscmd"
	"codeagent/hostfile"
	"codeagent/prompts"
	"codeagent/sandbox"
	"codeagent/tui"
)

// offerExtras gives the screen its commands of one step. f is what codeagent was started with.
func offerExtras(ses *conversation.Session, f cli.Flags, kept *saved, o *tui.Options) {
	ws := ses.Workspace
	o.Extras.Sandbox = func(context.Context) (string, error) {
		return describePolicy(ses.Gate.Base(), ws.Stdio.Env("HOME")), nil
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
	if ses.Tour != nil {
		return
	}
	o.Extras.Feedback = func(ctx context.Context) (string, error) { return feedback(ctx, ses, f) }
	o.Extras.Init, o.Extras.Plan = prompts.Init, prompts.PlanFirst
	o.Extras.Review = func(ctx context.Context, of string) (string, error) {
		what, c, err := ws.ToReview(ctx, of)
		return prompts.Reviewing(what, c.Text, c.Cut), err
	}
	o.Extras.Effort = ses.Think
	o.Extras.Own = func(ctx context.Context) ([]tui.OwnCommand, error) { return ownCommands(ctx, ses) }
	o.Extras.Fresh = func(context.Context) error {
		kept.next = &sessionscmd.Resumed{Folder: ws.Folder}
		return nil
	}
	if ses.Record == nil {
		return
	}
	log := ses.Record.Log
	missing := errors.New("this session has no message yet")
	o.Extras.Fork = func(context.Context) error {
		if !log.Kept() {
			return missing
		}
		kept.next = &sessionscmd.Resumed{ID: log.ID(), Folder: ws.Folder, Fork: true, After: true}
		return nil
	}
	o.Extras.Export = func(_ context.Context, file string) (string, error) {
		if !log.Kept() {
			return "", missing
		}
		if file == "" {
			file = "session-" + log.ID() + ".md"
		}
		if !filepath.IsAbs(file) {
			file = filepath.Join(ws.Folder, file)
		}
		return file, sessionscmd.Export(ws.Stdio, log.ID(), file, ws.Folder)
	}
}

// describePolicy says what commands may touch now.
func describePolicy(p sandbox.Policy, home string) string {
	short := func(path string) string {
		if rest, ok := strings.CutPrefix(path, home+"/"); ok && home != "" {
			return "~/" + rest
		}
		return path
	}
	var b strings.Builder
	list := func(head string, paths []string, none string) {
		fmt.Fprintln(&b, head)
		for _, path := range paths {
			fmt.Fprintln(&b, "  "+short(path))
		}
		if len(paths) == 0 {
			fmt.Fprintln(&b, "  "+none)
		}
		fmt.Fprintln(&b)
	}
	roots := func(list []sandbox.Root) []string {
		var out []string
		for _, r := range list {
			out = append(out, r.Path)
		}
		return out
	}
	if p.Unconfined {
		return "There is no sandbox: commands can do what you can."
	}
	list("Commands may write", roots(p.Write), "nothing")
	if p.Temp != "" {
		list("and their folder for temporary files", []string{p.Temp}, "")
	}
	list("They may read", roots(p.Read), "everything that you may read, except what follows")
	list("They may neither read nor write", slices.Concat(p.DenyRead, p.DenyGlobs), "(nothing is hidden by a setting)")
	list("They may reach", hostsOf(p), "no host")
	if len(p.Sockets) > 0 {
		list("and connect to the sockets", p.Sockets, "")
	}
	b.WriteString("/permissions lists where each of it comes from, and takes it back; /status says what enforces it.")
	return b.String()
}

// feedback writes a file for a report about codeagent: no word of the conversation, no name of a
// file of the project, and of the settings only those that cannot hold a secret.
func feedback(ctx context.Context, ses *conversation.Session, f cli.Flags) (string, error) {
	ws := ses.Workspace
	var b strings.Builder
	fmt.Fprintf(&b, "# Feedback about codeagent\n\nVersion %s on %s/%s\n\n## What happened\n\n(write it here)\n\n## Doctor\n\n", ws.Stdio.Version, runtime.GOOS, runtime.GOARCH)
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

func hostsOf(p sandbox.Policy) []string {
	if p.Network.Mode == sandbox.NetworkFull {
		return []string{"every host"}
	}
	var out []string
	for _, h := range p.Network.Hosts {
		out = append(out, h.String())
	}
	return out
}
