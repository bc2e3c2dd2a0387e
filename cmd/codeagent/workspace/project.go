package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
	"unicode/utf8"

	"codeagent/approvals/rules"
	"codeagent/cmd/codeagent/cli"
	"codeagent/config"
	"codeagent/hostfile"
	"codeagent/internal/short"
)

// A project's rules are in .codeagent/rules.toml, in the workspace or a folder above it. They come
// with the project's files, so they may only ask and forbid. A rule that opens something has no
// effect until the user adopts it, which copies it to the user's own file.
//
// All folders above count, and not only those of the repository. Otherwise a command could disable
// rules above the workspace by making a .git in it. No command may write a .codeagent.

// projectTime bounds the reading, so that a hanging file system does not block the start.
const projectTime = 10 * time.Second

// ProjectRules are the rules of the project around a workspace.
type ProjectRules struct {
	// Narrower are the rules that ask or forbid. They apply.
	Narrower []*rules.Rule
	// Wider are the rules that would allow something. They do not apply.
	Wider []*rules.Rule
	// Faults are errors of files whose rules do not apply.
	Faults []error
	own    []*rules.Rule
}

// projectRulesPlaces lists the existing rules files in the folder and above it, innermost first.
// The user's own file is excluded.
func projectRulesPlaces(folder, own string) (places []string) {
	for dir := folder; ; dir = filepath.Dir(dir) {
		place := filepath.Join(dir, ".codeagent", "rules.toml")
		if _, err := hostfile.Seen(place); place != own && !absent(err) {
			places = append(places, place)
		}
		if dir == filepath.Dir(dir) {
			return places
		}
	}
}

func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) }

// ReadProjectRules opens the workspace and reads its project's rules, for a report. If there is no
// such file, it does not open the workspace.
func ReadProjectRules(ctx context.Context, s cli.Stdio, f cli.Flags, paths config.Paths, own []*rules.Rule) (ProjectRules, error) {
	folder, err := Enter(s, f)
	if err != nil || len(projectRulesPlaces(folder, paths.Rules)) == 0 {
		return ProjectRules{}, err
	}
	ws, err := Open(ctx, s, f)
	if err != nil {
		return ProjectRules{}, err
	}
	defer ws.Close()
	return ws.ProjectRules(ctx, own), nil
}

// ProjectRules reads the project's rules inside the sandbox. own are the user's rules.
func (ws *Workspace) ProjectRules(ctx context.Context, own []*rules.Rule) (out ProjectRules) {
	out.own = own
	places := projectRulesPlaces(ws.Folder, ws.Paths.Rules)
	if len(places) == 0 {
		return out
	}
	ctx, cancel := context.WithTimeout(ctx, projectTime)
	defer cancel()
	files := ws.ProjectFiles(ctx, ws.Policy, "/")
	defer files.Close()
	for _, place := range places {
		list, err := ws.projectFile(files, place)
		if err != nil {
			out.Faults = append(out.Faults, err)
		}
		for _, r := range list {
			if r.Decision.Stricter(rules.None) {
				out.Narrower = append(out.Narrower, r)
			} else {
				out.Wider = append(out.Wider, r)
			}
		}
	}
	return out
}

// projectFile reads one file. It follows no link, because the sandbox can read everything that the
// user can read.
func (ws *Workspace) projectFile(files *ProjectFiles, place string) ([]*rules.Rule, error) {
	info, err := TrustedFile(place, ws.Folder)
	var data []byte
	if err == nil {
		data, err = files.Read(place, maxRulesFile+1)
	}
	switch {
	case err != nil:
	case len(data) > maxRulesFile:
		err = &hostfile.TooLargeError{Size: max(info.Size(), int64(len(data))), Most: maxRulesFile}
	case !utf8.Valid(data) || slices.Contains(data, 0):
		err = errors.New("it is not UTF-8 text")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	return rules.Parse(place, data, ws.Stdio.Env("HOME"))
}

// Words says which rules files do not apply, and how many rules the user has not adopted.
func (p ProjectRules) Words() (warnings []string, note string) {
	for _, err := range p.Faults {
		warnings = append(warnings, fmt.Sprintf("the rules in this project's file do not apply, not even those that forbid: %v", err))
	}
	left := slices.DeleteFunc(slices.Clone(p.Wider), func(r *rules.Rule) bool { return p.Adopted(r) })
	if len(left) > 0 {
		note = short.Count(len(left), "rule") + " of the project would allow something; not adopted: codeagent rules list"
	}
	return warnings, note
}

// ForProject returns a copy of a project's rule that applies only in the project's folder.
func ForProject(r *rules.Rule) *rules.Rule {
	out := *r
	out.Project = filepath.Dir(filepath.Dir(r.File))
	return &out
}

// ProjectID is an ID for the entry that adopting a project's rule would write. It is too long for
// the author of the file to construct two rules with the same ID.
func ProjectID(r *rules.Rule) string {
	sum := sha256.Sum256(ForProject(r).TOML())
	return "p" + hex.EncodeToString(sum[:12])
}

// Adopted reports whether the user's rules contain a copy of r for its project.
func (p ProjectRules) Adopted(r *rules.Rule) bool {
	entry := ForProject(r).TOML()
	return slices.ContainsFunc(p.own, func(o *rules.Rule) bool {
		return o.Project != "" && bytes.Equal(o.TOML(), entry)
	})
}

// ProjectFolders lists the folders from the one with the .git, if there is one, down to folder.
func ProjectFolders(folder string) (out []string) {
	top, _ := config.TopOf(folder)
	for dir := folder; dir != top; dir = filepath.Dir(dir) {
		out = append(out, dir)
	}
	out = append(out, top)
	slices.Reverse(out)
	return out
}

// TrustedFile looks at a file of the project in folder, and refuses what is not a regular file or
// belongs to another user. It follows no link at the end of the path.
func TrustedFile(place, folder string) (fs.FileInfo, error) {
	info, err := hostfile.Lstat(place)
	if err == nil && !info.Mode().IsRegular() {
		err = &hostfile.KindError{Mode: info.Mode()}
	}
	if err == nil {
		err = OwnerTrusted(info, folder)
	}
	return info, err
}

// OwnerTrusted refuses a file of another user, because every user may write to some folders above
// the workspace, such as /tmp. The user, root and the owner of the workspace are trusted.
func OwnerTrusted(info fs.FileInfo, folder string) error {
	owner, known := ownerOf(info)
	if !known || owner == 0 || owner == os.Getuid() {
		return nil
	}
	if workspace, err := hostfile.Seen(folder); err == nil {
		if its, _ := ownerOf(workspace); its == owner {
			return nil
		}
	}
	return fmt.Errorf("it belongs to another user (%d)", owner)
}

func ownerOf(info fs.FileInfo) (uid int, known bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), true
}
