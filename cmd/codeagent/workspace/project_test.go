package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"codeagent/approvals/rules"
)

// ownedBy is a file that belongs to uid.
type ownedBy struct {
	os.FileInfo
	uid uint32
}

func (o ownedBy) Sys() any { return &syscall.Stat_t{Uid: o.uid} }

// Another user's file in a folder above the workspace is not trusted.
func TestOwnerTrusted(t *testing.T) {
	me := uint32(os.Getuid())
	folder := t.TempDir()
	for _, c := range []struct {
		owner uint32
		ok    bool
	}{{me, true}, {0, true}, {me + 1, false}, {65534, false}} {
		if err := OwnerTrusted(ownedBy{uid: c.owner}, folder); (err == nil) != c.ok {
			t.Errorf("owner %d: %v", c.owner, err)
		}
	}
}

// All folders above the workspace can have rules, even above a .git.
func TestProjectRulesPlaces(t *testing.T) {
	root := t.TempDir()
	deep := filepath.Join(root, "a", "b")
	var want []string
	for _, dir := range []string{deep, filepath.Join(root, "a"), root} {
		place := filepath.Join(dir, ".codeagent", "rules.toml")
		if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(place, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		want = append(want, place)
	}
	if err := os.Mkdir(filepath.Join(deep, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := projectRulesPlaces(deep, ""); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := projectRulesPlaces(deep, want[1]); !slices.Equal(got, []string{want[0], want[2]}) {
		t.Errorf("with the user's own file on the way: %q", got)
	}
}

// An adopted rule applies only in the project's folder, and for as long as the project's rule. A
// changed rule no longer counts as adopted.
func TestAdopted(t *testing.T) {
	const text = "[[command]]\nwords = [\"a\"]\ndecision = \"allow\"\n[[host]]\nhosts = [\"example.com:443\"]\nexpires = 2031-02-03\n" +
		"[[path]]\npaths = [\"/x\"]\naccess = \"read\"\nexpires = 2031-02-03T04:05:06Z\n"
	list, err := rules.Parse("/src/app/.codeagent/rules.toml", []byte(text), "/home/u")
	if err != nil {
		t.Fatal(err)
	}
	var file []byte
	for _, r := range list {
		file = append(file, ForProject(r).TOML()...)
	}
	own, err := rules.Parse("/home/u/rules.toml", file, "/home/u")
	if err != nil || len(own) != len(list) {
		t.Fatalf("%v of\n%s", err, file)
	}
	for i, r := range list {
		if own[i].Project != "/src/app" || !own[i].Expires.Equal(r.Expires) {
			t.Errorf("%s until %s, adopted as %s until %s", r, r.Expires, own[i], own[i].Expires)
		}
		if (ProjectRules{}).Adopted(r) || !(ProjectRules{own: own}).Adopted(r) || (ProjectRules{own: list}).Adopted(r) {
			t.Errorf("%s: adopted %v, %v, %v", r, (ProjectRules{}).Adopted(r), (ProjectRules{own: own}).Adopted(r), (ProjectRules{own: list}).Adopted(r))
		}
	}
}

// TestProjectID: two rules that differ in anything, including the folder and the last day, have
// different IDs.
func TestProjectID(t *testing.T) {
	seen := map[string]string{}
	for _, text := range []string{
		"words = [\"a\"]", "words = [\"a\", \"b\"]", "words = [[\"a\", \"b\"]]", "words = [\"a b\"]", "words = [\"a|b\"]", "words = [\"a\"]\nexact = true",
		"words = [\"a\"]\nexpires = 2031-02-03", "words = [\"a\"]\nexpires = 2031-02-04",
	} {
		for _, folder := range []string{"/src", "/src/app"} {
			list, err := rules.Parse(folder+"/.codeagent/rules.toml", []byte("\n[[command]]\ndecision = \"allow\"\n"+text), "/home/u")
			if err != nil {
				t.Fatal(err)
			}
			id := ProjectID(list[0])
			if other, found := seen[id]; found {
				t.Errorf("%s and %s in %s are both %s", other, text, folder, id)
			}
			seen[id] = text
		}
	}
}
