package sandbox_test

import (
	"slices"
	"testing"

	"codeagent/sandbox"
)

var own = []string{
	"HOME=/home/u", "PATH=/bin", "LC_ALL=C", "TERM=xterm", "EDITOR=vi", "FOO=bar", "EMPTY=", "EQ=a=b", "=odd", "novalue",
	"OPENAI_API_KEY=sk-1", "AWS_SECRET_ACCESS_KEY=s", "GITHUB_TOKEN=t", "DB_PASSWORD=p", "db_passwd=p", "GOOGLE_APPLICATION_CREDENTIALS=/f",
	"CODEAGENT_HOME=/c", "CODEAGENT_ANY=1", "LD_PRELOAD=/evil.so", "DYLD_INSERT_LIBRARIES=/evil", "BASH_ENV=/evil", "ENV=/evil", "BASH_FUNC_ls%%=() { evil; }",
}

func TestEnvApply(t *testing.T) {
	for _, c := range []struct {
		name string
		env  sandbox.Env
		want []string
	}{
		{"core", sandbox.Env{}, []string{"HOME=/home/u", "LC_ALL=C", "PATH=/bin", "TERM=xterm"}},
		{"none", sandbox.Env{Inherit: sandbox.EnvNone}, []string{}},
		{"all", sandbox.Env{Inherit: sandbox.EnvAll}, []string{"EDITOR=vi", "EMPTY=", "EQ=a=b", "FOO=bar", "HOME=/home/u", "LC_ALL=C", "PATH=/bin", "TERM=xterm"}},
		{"named secret", sandbox.Env{Inherit: sandbox.EnvNone, Include: []string{"GITHUB_TOKEN"}}, []string{"GITHUB_TOKEN=t"}},
		{"include takes no globs", sandbox.Env{Inherit: sandbox.EnvNone, Include: []string{"*"}}, []string{}},
		{"exclude wins", sandbox.Env{Inherit: sandbox.EnvNone, Include: []string{"FOO", "EQ"}, Exclude: []string{"F*"}}, []string{"EQ=a=b"}},
		{"codeagent's own and loaders never", sandbox.Env{Inherit: sandbox.EnvNone, Include: []string{"CODEAGENT_HOME", "LD_PRELOAD", "BASH_ENV", "ENV", "BASH_FUNC_ls%%"}}, []string{}},
		{"set wins over all", sandbox.Env{Inherit: sandbox.EnvNone, Include: []string{"FOO"}, Set: map[string]string{"FOO": "1", "LD_PRELOAD": "/mine"}}, []string{"FOO=1", "LD_PRELOAD=/mine"}},
	} {
		if got := c.env.Apply(own); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := (sandbox.Env{}).Apply(nil); got == nil || len(got) != 0 {
		t.Errorf("an empty environment must be an empty list, not nil (which would mean codeagent's own): %#v", got)
	}
	if got := (sandbox.Env{}).Apply([]string{"HOME=a", "HOME=b"}); !slices.Equal(got, []string{"HOME=b"}) {
		t.Errorf("a variable given twice: %q", got)
	}
}
