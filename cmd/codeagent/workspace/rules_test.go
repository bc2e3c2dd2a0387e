package workspace

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"codeagent/approvals/rules"
	"codeagent/cmd/codeagent/cli"
	"codeagent/config"
)

// TestChangeRules: concurrent changes are all kept, and so is what a person wrote. The file stays
// unchanged if it is broken or the change would break it.
func TestChangeRules(t *testing.T) {
	dir := t.TempDir()
	paths, err := config.FindPaths(func(name string) string { return map[string]string{"CODEAGENT_HOME": dir}[name] }, dir)
	if err != nil {
		t.Fatal(err)
	}
	s := cli.Stdio{Environ: []string{"HOME=" + dir}}
	add := func(text string) ([]*rules.Rule, error) {
		return ChangeRules(t.Context(), s, paths, func(file []byte, _ []*rules.Rule) ([]byte, error) {
			return append(append(file, '\n'), text...), nil
		})
	}
	rule := func(i int) string {
		return fmt.Sprintf("[[command]]\nwords = ['p%d']\ndecision = 'allow'\n", i)
	}
	if err := paths.Create(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(paths.Rules, []byte("# mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() {
			if _, err := add(rule(i)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	data, err := os.ReadFile(paths.Rules)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if !strings.Contains(string(data), rule(i)) {
			t.Errorf("rule %d was lost", i)
		}
	}
	if !strings.HasPrefix(string(data), "# mine\n") {
		t.Errorf("the comment was lost: %s", data)
	}
	for _, broken := range []string{string(data) + "[[path]\n", "words = 1\n"} {
		if err := os.WriteFile(paths.Rules, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := add(rule(9)); err == nil || !strings.Contains(err.Error(), paths.Rules+":") {
			t.Errorf("added to a broken file: %v", err)
		}
		if now, err := os.ReadFile(paths.Rules); err != nil || string(now) != broken {
			t.Errorf("a broken file was changed: %s, %v", now, err)
		}
	}
	if err := os.WriteFile(paths.Rules, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := add("[[command]]\nwords = []\n"); err == nil {
		t.Error("a broken rule was added")
	}
	if now, err := os.ReadFile(paths.Rules); err != nil || string(now) != string(data) {
		t.Errorf("the file was changed: %s, %v", now, err)
	}
}

// TestChangeRulesMeanwhile: a change by another program between reading and writing is kept, so a
// rule that it removed does not come back.
func TestChangeRulesMeanwhile(t *testing.T) {
	dir := t.TempDir()
	paths, err := config.FindPaths(func(name string) string { return map[string]string{"CODEAGENT_HOME": dir}[name] }, dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := paths.Create(); err != nil {
		t.Fatal(err)
	}
	for before, after := range map[string]string{"[[path]]\npaths = ['/srv']\naccess = 'write'\n": "# none any more\n", "": "# the first\n"} {
		if err := os.Remove(paths.Rules); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		write := func(text string) {
			if err := os.WriteFile(paths.Rules, []byte(text), 0o600); err != nil {
				t.Error(err)
			}
		}
		if before != "" {
			write(before)
		}
		_, err := ChangeRules(t.Context(), cli.Stdio{}, paths, func(file []byte, _ []*rules.Rule) ([]byte, error) {
			write(after)
			return append(file, "[[path]]\npaths = ['/opt']\naccess = 'write'\n"...), nil
		})
		if now, rerr := os.ReadFile(paths.Rules); err == nil || !strings.Contains(err.Error(), paths.Rules) || rerr != nil || string(now) != after {
			t.Errorf("%v, and the file holds %q (%v)", err, now, rerr)
		}
	}
}
