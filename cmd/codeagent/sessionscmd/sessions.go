// Package sessionscmd is `codeagent sessions`, and it finds the session for resume, fork
// and undo. It changes sessions only through package session and writes a page only
// to the file that a flag names. Read Which.Find first.
package sessionscmd

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/hostfile"
	"codeagent/internal/short"
	"codeagent/internal/visible"
	sessions "codeagent/session"

	"github.com/spf13/cobra"
)

// sessionFlags are the flags of the list.
type sessionFlags struct {
	all, json bool
	most      int
}

// New returns the command `codeagent sessions`.
func New(s cli.Stdio, f *cli.Flags) *cobra.Command {
	var l sessionFlags
	cmd := &cobra.Command{
		Use: "sessions", Short: "List, rename, export or delete kept sessions",
		Long: "sessions lists the sessions of this folder, last used first. An ID may be shortened to what is\n" +
			"unambiguous, at least four characters.",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return listSessions(s, *f, l) },
	}
	cmd.Flags().BoolVar(&l.all, "all", false, "of all folders")
	cmd.Flags().BoolVar(&l.json, "json", false, "print one JSON object a line")
	cmd.Flags().IntVarP(&l.most, "number", "n", 20, "list at most this many; 0 lists all")
	cmd.AddCommand(newSessionsShow(s), newSessionsRename(s), newSessionsDelete(s), newSessionsExport(s))
	return cmd
}

// sessionJSON is one line of `sessions --json`.
type sessionJSON struct {
	ID      string    `json:"id"`
	Title   string    `json:"title"`
	First   string    `json:"first_message"`
	Folder  string    `json:"folder"`
	Branch  string    `json:"branch,omitempty"`
	Origin  string    `json:"fork_of,omitempty"`
	Created time.Time `json:"created"`
	Used    time.Time `json:"used"`
	Bytes   int64     `json:"bytes"`
	Damaged string    `json:"damaged,omitempty"`
}

func listSessions(s cli.Stdio, f cli.Flags, l sessionFlags) error {
	store, err := Store(s)
	if err != nil {
		return err
	}
	here := ""
	if !l.all {
		if here, err = workspace.Enter(s, f); err != nil {
			return err
		}
	}
	table := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	n, more := 0, false
	for sum, err := range store.List() {
		if err != nil {
			return cli.StorageError(err)
		}
		if !l.all && !IsHere(sum, here) {
			continue
		}
		if n++; l.most > 0 && n > l.most {
			more = true
			break
		}
		if l.json {
			err = cli.PrintJSON(s.Out, sessionJSON{sum.ID, sum.Title, sum.First, sum.Folder, sum.Branch, sum.Origin, sum.Created, sum.Used, sum.Size, sum.Damaged}, "")
		} else {
			folder := ""
			if l.all {
				folder = visible.Line(sum.Folder) + "\t"
			}
			_, err = fmt.Fprintf(table, "%s\t%s\t%s%s\n", sum.ID, sum.Used.Format("2006-01-02 15:04"), folder, sessionName(sum))
		}
		if err != nil {
			return fmt.Errorf("list the sessions: %w", err)
		}
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("list the sessions: %w", err)
	}
	switch {
	case more:
		fmt.Fprintln(s.Err, "there are more: -n 0 lists all")
	case n > 0 || l.json:
	case l.all:
		fmt.Fprintln(s.Err, "there is no saved session")
	default:
		fmt.Fprintln(s.Err, "this folder has no saved session; --all lists those of other folders")
	}
	return nil
}

// sessionName returns the short line by which a session is listed.
func sessionName(sum sessions.Summary) string {
	const most = 60
	name := short.Cut(visible.Line(sum.Name()), most)
	if sum.Branch != "" {
		name += "  on " + visible.Line(short.Cut(sum.Branch, 30))
	}
	if sum.Origin != "" {
		return name + " (fork of " + sum.Origin[:min(len(sum.Origin), 8)] + ")"
	}
	return name
}

func sessionLine(sum sessions.Summary) string {
	return fmt.Sprintf("%s  %s  %s", sum.ID, sum.Used.Format("2006-01-02 15:04"), sessionName(sum))
}

func newSessionsShow(s cli.Stdio) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "List the messages of a session", Args: cobra.ExactArgs(1),
		Long: "show lists your messages of a session with their numbers: the places for --before.",
		RunE: func(_ *cobra.Command, args []string) error {
			return found(s, (*sessions.Store).Find, args[0], func(store *sessions.Store, sum sessions.Summary) error {
				list, err := store.Messages(sum.ID)
				if err != nil {
					return err
				}
				fmt.Fprintf(s.Text, "%s\n%s\n", sessionLine(sum), visible.Line(sum.Folder))
				for _, m := range list {
					fmt.Fprintf(s.Text, "%4d  %s  %s\n", m.N, m.At.Local().Format("2006-01-02 15:04"), visible.Line(m.Text))
				}
				return nil
			})
		},
	}
}

func newSessionsRename(s cli.Stdio) *cobra.Command {
	return &cobra.Command{
		Use: "rename ID TITLE", Short: "Give a session a title; an empty one takes it away", Args: cobra.MinimumNArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			return found(s, (*sessions.Store).Find, args[0], func(store *sessions.Store, sum sessions.Summary) error {
				return store.Rename(sum.ID, strings.Join(args[1:], " "))
			})
		},
	}
}

func newSessionsDelete(s cli.Stdio) *cobra.Command {
	return &cobra.Command{
		Use: "delete ID…", Short: "Delete sessions for good", Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			for _, name := range args {
				err := found(s, (*sessions.Store).Named, name, func(store *sessions.Store, sum sessions.Summary) error {
					if err := store.Delete(sum.ID); err != nil {
						return err
					}
					if err := ForgetUndo(s, sum.ID); err != nil {
						return err
					}
					fmt.Fprintf(s.Err, "deleted %s\n", sessionLine(sum))
					return nil
				})
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func newSessionsExport(s cli.Stdio) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "export ID", Short: "Write a session as a Markdown page", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return found(s, (*sessions.Store).Find, args[0], func(store *sessions.Store, sum sessions.Summary) error {
				if output == "" {
					return store.Export(s.Out, sum.ID)
				}
				return exportFile(s, "-o", output, sum.Folder, func(w io.Writer) error { return store.Export(w, sum.ID) })
			})
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file, for you alone, instead of stdout")
	return cmd
}

// Export writes a session to a new file.
func Export(s cli.Stdio, id, file, folder string) error {
	if _, err := hostfile.Lstat(file); err == nil {
		return fmt.Errorf("%s exists; name another file", file)
	}
	return found(s, (*sessions.Store).Find, id, func(store *sessions.Store, sum sessions.Summary) error {
		return exportFile(s, "/export", file, folder, func(w io.Writer) error { return store.Export(w, sum.ID) })
	})
}

// exportFile writes a page that only the user may read: a conversation contains file
// contents. Commands of any session may have planted links, those of this one in its folder.
//
// Threat: a page holds what a model and commands wrote. A browser would run that in a file that it takes for HTML.
func exportFile(s cli.Stdio, asked, name, folder string, write func(io.Writer) error) error {
	if browsed := []string{".html", ".htm", ".xhtml", ".xht", ".shtml", ".svg", ".xml"}; slices.Contains(browsed, strings.ToLower(filepath.Ext(name))) {
		return cli.Usage(fmt.Errorf("%s: a page is Markdown, which no browser may take for HTML: name it .md", name))
	}
	_, ground, err := workspace.Places(context.Background(), s)
	if err != nil {
		return err
	}
	file, err := cli.OpenOutput(ground.With(folder), asked, name, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Write(write)
}

// found calls do with the session of that name. find is (*sessions.Store).Find, or Named for
// what also works on a damaged session.
func found(s cli.Stdio, find func(*sessions.Store, string) (sessions.Summary, error), name string, do func(*sessions.Store, sessions.Summary) error) error {
	store, err := Store(s)
	if err != nil {
		return err
	}
	sum, err := find(store, name)
	if err == nil {
		err = do(store, sum)
	}
	return Error(err)
}
