package tools

import (
	"io/fs"
	"strings"
	"testing"
)

// host is a file system where every entry but those with "absent" in their names exists.
type host struct{}

func (host) Lstat(name string) (fs.FileMode, error) {
	if strings.Contains(name, "absent") {
		return 0, fs.ErrNotExist
	}
	return 0, nil
}

func (host) Readlink(string) (string, error) { return "", fs.ErrInvalid }

// TestOwnTemp: paths of a session with its own /tmp, which has the file mine.
func TestOwnTemp(t *testing.T) {
	ps := paths{host{}, "/ws", func(path string) (string, bool) {
		if path == "/tmp" || path == "/tmp/mine" {
			return "/own" + strings.TrimPrefix(path, "/tmp"), false
		}
		return path, strings.HasPrefix(path, "/tmp/")
	}}
	for name, want := range map[string]string{"/tmp/mine": "/own/mine", "/tmp/other": "/tmp/other", "sub/f": "/ws/sub/f"} {
		got, err := ps.canonical(name)
		if err != nil || got != want {
			t.Errorf("%s is %s, %v, want %s", name, got, err, want)
		}
	}
	if got := ps.show("/own/mine"); got != "/tmp/mine" {
		t.Errorf("shown as %s", got)
	}
	for _, row := range []struct{ command, output, names string }{
		{"sh run.sh", "cat: /tmp/log: No such file or directory", "/tmp/log"},
		{"sh run.sh", "no '/tmp/a/b.log', no \"/tmp/log\".", "/tmp/a/b.log, /tmp/log"},
		{"sh run.sh", "FileNotFoundError: '/tmp/log'\n'/tmp/log'", "/tmp/log"},
		{"cat /tmp/log", "cat: /tmp/log: Permission denied", ""},
		{"sh run.sh", "wrote /tmp/mine", ""},
		{"sh run.sh", "no /tmp/absent", ""},
		{"sh run.sh", "no /srv/tmp/log", ""},
		{"sh run.sh", "/tmp/a /tmp/b /tmp/c /tmp/d", "/tmp/a, /tmp/b, /tmp/c"},
		{"sh run.sh", strings.Repeat("x", maxOutput) + " /tmp/log", ""},
	} {
		got := ps.onHost(row.command, row.output)
		if row.names == "" && got != "" || !strings.Contains(got, row.names+". A command") && row.names != "" {
			t.Errorf("%s: %.80s: %q, want %s", row.command, row.output, got, row.names)
		}
	}
}
