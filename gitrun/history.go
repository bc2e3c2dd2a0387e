package gitrun

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"codeagent/exec"
	"codeagent/hostfile"
	"codeagent/internal/git"
	"codeagent/sandbox"
)

// History is what files of a work tree contained in the commits before some. It is read when it is first
// asked for, and then commands have long been able to write the repository's store. So git is only asked
// for objects, and each of them, from the commits on, is compared with its name.
type History struct {
	git  *Git
	top  string
	tips []string

	mu    sync.Mutex
	began bool
	// levels are the trees that a folder had, by its path from "/", the top.
	levels map[string][]string
	trees  map[string][]byte
}

// Bounds of a history. What lies beyond them is not known.
const (
	mostCommits = 20_000
	mostObjects = 64 << 20 // bytes of objects in one answer
)

// History returns that of the commits tips, as Tips returns them.
func (g *Git) History(top string, tips []string) *History {
	return &History{git: g, top: top, tips: tips, levels: map[string][]string{}, trees: map[string][]byte{}}
}

// Versions returns what name was, a path in the work tree. What cannot be read was not there.
func (h *History) Versions(ctx context.Context, name string) (v sandbox.Versions) {
	if !fs.ValidPath(name) {
		return v
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.began {
		h.began = true
		h.begin(ctx)
	}
	dir, last := path.Split(name)
	v.Blobs = map[sandbox.Blob]bool{}
	for _, id := range h.level(ctx, path.Clean("/"+dir)) {
		if child, mode := git.Child(id, h.trees[id], last); child != "" && !mode.IsDir() {
			v.Blobs[sandbox.Blob{ID: child, Executable: mode == 0o755}] = true
		}
	}
	v.Folder = len(h.level(ctx, path.Clean("/"+name))) > 0
	return v
}

// level returns the trees that the folder dir had, read.
func (h *History) level(ctx context.Context, dir string) []string {
	if out, known := h.levels[dir]; known {
		return out
	}
	var out []string
	for _, id := range h.level(ctx, path.Dir(dir)) {
		if child, mode := git.Child(id, h.trees[id], path.Base(dir)); mode.IsDir() {
			out = append(out, child)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	h.readTrees(ctx, out)
	h.levels[dir] = out
	return out
}

// begin finds the trees of the commits. git's list of them only says what to read: a commit counts if tips
// lead to it.
func (h *History) begin(ctx context.Context) {
	h.levels["/"] = nil
	list, _, err := h.git.whole(ctx, h.top, nil, mostObjects, slices.Concat([]string{"rev-list", "--max-count=" + strconv.Itoa(mostCommits)}, h.tips, []string{"--"})...)
	if err != nil {
		return
	}
	var roots []string
	commits := map[string][]byte{}
	h.read(ctx, strings.Fields(list), func(id string, text []byte) { commits[id] = text })
	for due := slices.Clone(h.tips); len(due) > 0; {
		id := due[len(due)-1]
		due = due[:len(due)-1]
		tree, parents, ok := git.Lineage(id, commits[id])
		delete(commits, id)
		if ok {
			roots, due = append(roots, tree), append(due, parents...)
		}
	}
	slices.Sort(roots)
	roots = slices.Compact(roots)
	h.readTrees(ctx, roots)
	h.levels["/"] = roots
}

func (h *History) readTrees(ctx context.Context, ids []string) {
	h.read(ctx, ids, func(id string, text []byte) {
		if git.IsObject(id, "tree", text) {
			h.trees[id] = text
		}
	})
}

// read hands the objects ids to each, as git has them: with any content.
func (h *History) read(ctx context.Context, ids []string, each func(id string, text []byte)) {
	if len(ids) == 0 {
		return
	}
	in, write, err := os.Pipe()
	if err != nil {
		return
	}
	defer in.Close()
	go func() { // ends with git, whose end of the pipe is then closed
		_, _ = write.WriteString(strings.Join(ids, "\n") + "\n")
		_ = write.Close()
	}()
	var text []byte
	_, err = h.git.start(ctx, h.top, exec.Command{Stdin: in, Tap: func(data []byte) {
		text = append(text, data[:min(len(data), mostObjects-len(text))]...)
	}}, nil, []string{"cat-file", "--batch", "--buffer"})
	for err == nil {
		line, rest, ok := bytes.Cut(text, []byte("\n"))
		head := strings.Fields(string(line)) // ID KIND SIZE, or ID missing
		if text = rest; !ok || len(head) < 2 {
			return
		}
		if len(head) == 2 {
			continue
		}
		size, bad := strconv.Atoi(head[2])
		if bad != nil || size < 0 || size >= len(text) {
			return
		}
		each(head[0], text[:size])
		text = text[size+1:]
	}
}

// heads begins the full name of a branch.
const heads = git.Refs + "/heads/"

// Tips returns the commits of HEAD and of the branch that it follows in t. It starts no git: the session
// waits for it. What it cannot read is left out.
func Tips(ctx context.Context, t git.Tree) (tips []string) {
	own, common := t.Dirs[0], t.Dirs[len(t.Dirs)-1]
	add := func(dir, name string) {
		if id := resolve(ctx, dir, common, name); id != "" && !slices.Contains(tips, id) {
			tips = append(tips, id)
		}
	}
	add(own, git.Head)
	branch, _ := strings.CutPrefix(first(ctx, path.Join(own, git.Head)), "ref: "+heads)
	text, _ := hostfile.Read(ctx, path.Join(common, git.Config), mostSettings)
	settings, _ := git.Parse("", string(text))
	remote, merge := "", ""
	for _, s := range settings {
		switch {
		case s.Section != "branch" || s.Middle() != branch:
		case s.Name == "remote":
			remote = s.Value
		case s.Name == "merge":
			merge = s.Value
		}
	}
	if remote != "." {
		merge = git.Refs + "/remotes/" + remote + "/" + strings.TrimPrefix(merge, heads)
	}
	add(common, merge)
	return tips
}

// resolve returns the commit that a ref in dir names, "" if absent.
func resolve(ctx context.Context, dir, common, name string) string {
	if name != git.Head && (path.Clean(name) != name || !strings.HasPrefix(name, git.Refs+"/")) {
		return ""
	}
	text := first(ctx, path.Join(dir, name))
	if to, is := strings.CutPrefix(text, "ref: "); is && name == git.Head {
		return resolve(ctx, common, common, to)
	}
	if text == "" {
		packed, _ := hostfile.Read(ctx, path.Join(common, git.Packed), mostSettings)
		text = string(packed)
	}
	return git.RefIn(text, name)
}

// first returns the first line of a small file, "" without one.
func first(ctx context.Context, file string) string {
	text, _ := hostfile.Read(ctx, file, maxHead)
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}
