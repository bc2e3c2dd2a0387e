package screen

import (
	"context"
	"errors"
	"slices"

	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/conversation"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/config"
	"codeagent/hostfile"
	sessions "codeagent/session"
	"codeagent/tui"
	"codeagent/tui/paint"
	"codeagent/tui/picker"
)

// mostPlaces is how many folders of earlier sessions are offered.
const mostPlaces = 8

// elsewhere asks where to work if err is about the workspace, and returns the flags for
// that; false: err is about something else, or the person chose nothing.
func elsewhere(ctx context.Context, s cli.Stdio, f cli.Flags, err error) (cli.Flags, bool) {
	var shut *config.WorkspaceError
	if !errors.As(err, &shut) || s.Dumb() {
		return f, false
	}
	here, err := workspace.Enter(s, f)
	if err != nil {
		return f, false
	}
	places := []picker.Row{{Id: config.ReadOnly, Text: "Here, read-only", About: "commands change nothing"}}
	for _, folder := range recentFolders(ctx, s, here) {
		places = append(places, picker.Row{Id: folder, Text: paint.Tilde(folder, s.Env("HOME")), About: "an earlier session"})
	}
	why := shut.Error()
	for {
		chosen, err := tui.New(tui.Options{In: s.In, Out: s.Out, Environ: s.Environ, Home: s.Env("HOME"), Mouse: true}).PickPlace(ctx, why, places)
		switch {
		case err != nil || chosen == "":
			return f, false
		case chosen == config.ReadOnly:
			f.Folder, f.Sandbox = here, config.ReadOnly
			return f, true
		}
		f.Folder = chosen
		if _, err := workspace.Enter(s, f); err != nil {
			why = err.Error()
			continue
		}
		return f, true
	}
}

// withoutModel has the person set up a model, or choose the tour, if err is that no model is configured; false: err is
// about something else, or the person chose nothing. said is about what was kept.
func withoutModel(ctx context.Context, s cli.Stdio, f cli.Flags, err error) (_ cli.Flags, said string, played, ok bool) {
	var none *conversation.NoModel
	if !errors.As(err, &none) {
		return f, "", false, false
	}
	if s.Dumb() {
		return f, "", none.Err == nil, none.Err == nil
	}
	why := "No model is configured. For the tour none is needed: it writes a file here, asks to write one outside, and offers to remove both."
	if none.Err != nil {
		_, why, _ = cli.ExitOf(none.Err)
	}
	work := modelSetup{s, f, none.Paths, none.Readable}
	c, said, played, err := tui.New(tui.Options{In: s.In, Out: s.Out, Environ: s.Environ, Home: s.Env("HOME"), Mouse: true, Setup: work}).SetUp(ctx, why)
	if said != "" {
		f = withChosen(ctx, s, f, c.Title())
	}
	return f, said, played, err == nil && (played || said != "")
}

// withChosen are flags under which the model that was kept is used, whatever comes before the file.
func withChosen(ctx context.Context, s cli.Stdio, f cli.Flags, model string) cli.Flags {
	if now, err := workspace.Settings(ctx, s, f); err == nil && !now.Origin("model").InFile() {
		f.Model = model
	}
	return f
}

// recentFolders are the folders of earlier sessions that are still there, last used first.
func recentFolders(ctx context.Context, s cli.Stdio, here string) (out []string) {
	paths, _, err := workspace.Places(ctx, s)
	if err != nil {
		return nil
	}
	for sum, err := range sessions.New(paths.Sessions).List() {
		if err != nil || len(out) == mostPlaces || ctx.Err() != nil {
			break
		}
		if info, err := hostfile.Seen(sum.Folder); err == nil && info.IsDir() && sum.Folder != here && !slices.Contains(out, sum.Folder) {
			out = append(out, sum.Folder)
		}
	}
	return out
}
