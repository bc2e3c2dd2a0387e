package content

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// source is a Source with these hashes and changes.
type source struct {
	sums    map[string]string // "-": the file cannot be read
	changed []string
	lost    bool // the list of changes is incomplete
}

func (s source) Digest(path string) (string, error) {
	switch sum := s.sums[path]; sum {
	case "":
		return "", fs.ErrNotExist
	case "-":
		return "", errors.New("permission denied")
	default:
		return sum, nil
	}
}
func (s source) Mark() (int64, bool) { return int64(len(s.changed)), true }
func (s source) Changed(mark int64) (out []Change, all bool) {
	for _, p := range s.changed[mark:] {
		out = append(out, Change{Path: p})
	}
	return out, !s.lost
}
func (s source) Identity(string) (Identity, error) { return Identity{}, fs.ErrNotExist }
func (s source) Writers() []Writer                 { return nil }

func plain(s string) string { return s }

// TestOf: absent files and program names that are not in PATH are known states. An unreadable file
// is a known state only for programs.
func TestOf(t *testing.T) {
	s := source{sums: map[string]string{"/bin/a": "1", "/bin/x": "-"}}
	for _, c := range []struct {
		path   string
		unread bool
		want   Item
		fails  bool
	}{
		{path: "/bin/a", want: Item{Name: "n", Path: "/bin/a", Sum: "1"}},
		{path: "/bin/gone", want: Item{Name: "n", Path: "/bin/gone"}},
		{path: "", want: Item{Name: "n"}},
		{path: "/bin/x", fails: true},
		{path: "/bin/x", unread: true, want: Item{Name: "n", Path: "/bin/x", Sum: Unread}},
	} {
		if got, err := Of(s, "n", c.path, c.unread); got != c.want || (err != nil) != c.fails {
			t.Errorf("%q, %v: %+v, %v", c.path, c.unread, got, err)
		}
	}
}

// TestMoved: each way in which a file or a program can differ from the question.
func TestMoved(t *testing.T) {
	was := Binding{Items: []Item{{"make", "/usr/bin/make", "m"}, {"x", "/w/x", ""}, {"none", "", ""}, {"sudo", "/usr/bin/sudo", Unread}}}
	for _, c := range []struct {
		now  Item
		want string
	}{
		{Item{"make", "/usr/bin/make", "m"}, ""},
		{Item{"x", "/w/x", ""}, ""},
		{Item{"none", "", ""}, ""},
		{Item{"sudo", "/usr/bin/sudo", Unread}, ""},
		{Item{"make", "/usr/bin/make", "n"}, "/usr/bin/make changed"},
		{Item{"make", "/usr/bin/make", Unread}, "/usr/bin/make changed"},
		{Item{"make", "/usr/bin/make", ""}, "/usr/bin/make was removed"},
		{Item{"make", "/w/make", "m"}, "make means another program: /w/make"},
		{Item{"make", "", ""}, "make means another program: none"},
		{Item{"none", "/w/none", "1"}, "none means another program: /w/none"},
		{Item{"x", "/w/x", "1"}, "/w/x changed"},
		{Item{"y", "/w/y", "1"}, "y was added"},
	} {
		if got := strings.Join(was.Differs(source{}, Binding{Items: []Item{c.now}}, plain), "; "); got != c.want {
			t.Errorf("%+v: %q, want %q", c.now, got, c.want)
		}
	}
}

// TestDiffers: every change of the session counts, and unknown changes count as changes.
func TestDiffers(t *testing.T) {
	at := func(s source) (b Binding) { b.At(s); return b }
	for _, c := range []struct {
		name string
		was  Binding
		s    source
		want []string
	}{
		{"nothing", at(source{}), source{}, nil},
		{"a file", at(source{}), source{changed: []string{"/w/a"}}, []string{"this session changed /w/a"}},
		{"before the answer", at(source{changed: []string{"/w/a"}}), source{changed: []string{"/w/a"}}, nil},
		{"many", at(source{}), source{changed: []string{"/w/1", "/w/2", "/w/3", "/w/4", "/w/5"}}, []string{"this session changed /w/5, /w/4, /w/3 and 2 more"}},
		{"more than are listed", at(source{}), source{lost: true}, []string{"this session changed more files than are listed"}},
	} {
		if got := c.was.Differs(c.s, at(c.s), plain); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := (*Binding)(nil).Differs(source{}, Binding{}, plain); len(got) != 1 {
		t.Errorf("without a binding: %q", got)
	}
}

// TestClone: a copy shares nothing with the binding.
func TestClone(t *testing.T) {
	was := &Binding{Items: []Item{{Name: "a"}}, Places: []Place{{Path: "/w"}}}
	c := was.Clone()
	c.Items[0].Name, c.Places[0].Path = "b", "/v"
	if was.Items[0].Name != "a" || was.Places[0].Path != "/w" || (*Binding)(nil).Clone() != nil {
		t.Errorf("%+v", was)
	}
}
