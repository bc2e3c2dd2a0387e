package sandbox_test

import (
	"os"
	"strings"
	"testing"

	"codeagent/sandbox"
)

// TestValidateRefuses: what no machine can enforce as it is written.
func TestValidateRefuses(t *testing.T) {
	write := func(path string) sandbox.Policy { return sandbox.Policy{Write: []sandbox.Root{{Path: path}}} }
	names := func(names ...string) sandbox.Policy {
		return sandbox.Policy{Protected: sandbox.ProtectedNames{Names: names}}
	}
	globs := func(globs ...string) sandbox.Policy { return sandbox.Policy{DenyGlobs: globs} }
	host := func(host string) sandbox.Policy {
		return sandbox.Policy{Network: sandbox.Network{Mode: sandbox.NetworkAllow, Hosts: []sandbox.HostPort{{Host: host, Port: 1}}}}
	}
	env := func(env sandbox.Env) sandbox.Policy { return sandbox.Policy{Env: env} }
	for name, p := range map[string]sandbox.Policy{
		"relative root": write("w"), "empty root": write(""), "unclean root": write("/w/../etc"), "slash at the end": write("/w/"), "not UTF-8": write("/w\xff"),
		"NUL":            {Read: []sandbox.Root{{Path: "/w\x00"}}},
		"was writable":   {WasWrite: []sandbox.Root{{Path: "w"}}},
		"own":            {Protected: sandbox.ProtectedNames{Own: []string{"x"}}},
		"hidden":         {Protected: sandbox.ProtectedNames{Own: []string{"/own"}, Hidden: []string{"/x"}}},
		"name leads out": names("../x"), "name is dots": names(".."), "name is all": names("."), "absolute name": names("/x"),
		"temp":      {Temp: "tmp"},
		"socket":    {Sockets: []string{"s"}},
		"deny_read": {DenyRead: []string{"etc"}},
		"bad glob":  globs("**/[a"), "glob over a slash": globs("/w/[a/b]"), "unclean glob": globs("**/../x"),
		"network mode":       {Network: sandbox.Network{Mode: "some"}},
		"a host with a user": host("a@b"), "a host nobody parsed": host("a\nb"), "a host in capitals": host("A"),
		"negative limit": {Limits: sandbox.Limits{CPUSeconds: -1}},
		"env mode":       env(sandbox.Env{Inherit: "some"}), "env name": env(sandbox.Env{Set: map[string]string{"A=B": "c"}}), "env value": env(sandbox.Env{Set: map[string]string{"A": "\x00"}}), "env glob": env(sandbox.Env{Exclude: []string{"[a"}}),
	} {
		if err := p.Validate(); err == nil {
			t.Errorf("%s: %+v is valid", name, p)
		}
	}
	for name, p := range map[string]sandbox.Policy{
		"zero": {}, "read-only": sandbox.ReadOnly(), "workspace-write": sandbox.WorkspaceWrite("/w", "/x"),
		"full": sandbox.FullAccess(), "strict": sandbox.Strict("/w", "/s"), "workspace": workspace(),
	} {
		if err := p.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestStrict: what the preset for untrusted programs opens, and what it does not.
func TestStrict(t *testing.T) {
	p := sandbox.Strict("/w", "/s")
	for access, want := range map[string]bool{
		"r /usr/lib/libc.so": true, "r /w/x": true, "r /s/x": true, "w /s/x": true,
		"r /home/u/x": false, "r /root": false, "r /var/lib/x": false, "w /w/x": false, "w /usr/x": false, "w /tmp/x": false, "h example.com:80": false,
	} {
		if got := judge(t, p, access); got != want {
			t.Errorf("%s: %v", access, got)
		}
	}
	if p.Limits.CPUSeconds != 1 || p.Limits.Memory != 64<<20 {
		t.Errorf("limits %+v", p.Limits)
	}
}

func TestStartErrorWords(t *testing.T) {
	for code, want := range map[int]string{
		sandbox.ExitNotFound: "command not found", sandbox.ExitCannotExec: "cannot be executed", sandbox.ExitCannotConfine: "landlock: x (the command did not run)",
	} {
		err := &sandbox.StartError{Code: code, Stage: "landlock", Err: os.ErrPermission}
		if want = strings.ReplaceAll(want, ": x", ": permission denied"); !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %q, want %q in it", code, err, want)
		}
	}
}
