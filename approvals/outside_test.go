package approvals

import (
	"slices"
	"strings"
	"testing"

	"codeagent/approvals/content"
)

func outsideOf(folder, text string) Action {
	a := command(text, Wish{Unsandboxed: true, Justification: "j"})
	a.Folder = folder
	return a
}

// TestOutsideWarns about files of the command that the session made or can change.
func TestOutsideWarns(t *testing.T) {
	made := func(dirs ...string) func(*Options) {
		return func(o *Options) { o.MadeGit = func() []string { return dirs } }
	}
	for _, c := range []struct {
		folder, text string
		more         func(*Options)
		want         []string // the beginnings of warnings
	}{
		{workspace, "make", nil, nil},
		{"/srv", "docker ps", made(workspace + "/.git"), []string{"commands made the repository /home/u/src/app/.git"}},
		{workspace, "git status", made(workspace+"/a.git", workspace+"/b.git", workspace+"/c.git", workspace+"/d.git", workspace+"/e.git"),
			[]string{"commands made the repository /home/u/src/app/a.git", "commands made", "commands made", "the same holds for 2 more"}},
		{"/srv", "docker ps", func(o *Options) { o.Path = []string{"/usr/bin", workspace + "/node_modules/.bin"} },
			[]string{"programs are looked for in " + workspace + "/node_modules/.bin, which commands can change"}},
		{"/srv", "docker ps", func(o *Options) {
			o.Content = &contents{changed: []content.Change{{Path: workspace + "/main.go", By: "an edit"}, {Path: workspace + "/gone"}}}
		}, []string{"this session changed " + workspace + "/main.go (by an edit)"}},
		{workspace, "./deploy.sh --file=.envrc", func(o *Options) {
			o.Content = &contents{changed: []content.Change{{Path: workspace + "/.envrc", By: "a command"}, {Path: workspace + "/main.go"}}}
		}, []string{"this session changed what the command names: " + workspace + "/.envrc (by a command)", "this session changed " + workspace + "/main.go"}},
		{workspace, "python3 tool.py", func(o *Options) {
			o.Content = &contents{changed: []content.Change{{Path: workspace + "/main.go"}}}
		}, []string{"this session changed " + workspace + "/main.go"}},
		{workspace, "sh ./main.go", func(o *Options) {
			o.Content = &contents{changed: []content.Change{{Path: workspace + "/main.go"}}}
		}, []string{"this session changed what the command names: " + workspace + "/main.go"}},
	} {
		more := c.more
		if more == nil {
			more = func(*Options) {}
		}
		r := mustAsk(t, newGate(OnRequest, confined(), more), outsideOf(c.folder, c.text))
		i := slices.IndexFunc(r.Warnings, func(w string) bool { return strings.HasPrefix(w, "outside the sandbox it can change") })
		if i < 0 || len(r.Warnings) != i+1+len(c.want) {
			t.Errorf("%s$ %s: %q", c.folder, c.text, r.Warnings)
			continue
		}
		for j, want := range c.want {
			if !strings.HasPrefix(r.Warnings[i+1+j], want) {
				t.Errorf("%s$ %s: %q, want %q", c.folder, c.text, r.Warnings[i+1+j], want)
			}
		}
	}
	// A command in the sandbox is not outside.
	r := mustAsk(t, newGate(OnRequest, confined(), made(workspace+"/.git")), command("git status", Wish{Write: []string{"/etc/hosts"}}))
	if slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "git directory") }) {
		t.Errorf("%q", r.Warnings)
	}
}

// TestNamedPaths: the entries of words, of values of options and of redirections.
func TestNamedPaths(t *testing.T) {
	for text, want := range map[string][]string{
		"rm -rf build ./x/../y": {"/srv/build", "/srv/y"}, "a --file=/b c=d": {"/b", "/srv/c=d"}, "a > o && b < i": {"/srv/o", "/srv/i"},
		"a $X 'q r'": {"/srv/q r"}, "a 'unfinished": nil,
	} {
		if got := namedPaths(outsideOf("/srv", text)); !slices.Equal(got, want) {
			t.Errorf("%s: %q", text, got)
		}
	}
}

// TestChangeableInSharedTemp: with shared_temp commands can change what lies in /tmp.
func TestChangeableInSharedTemp(t *testing.T) {
	p := confined()
	if changeable(p, "/tmp/tool") {
		t.Error("changeable without shared_temp")
	}
	if p.SharedTemp = true; !changeable(p, "/tmp/tool") {
		t.Error("not changeable with shared_temp")
	}
}
