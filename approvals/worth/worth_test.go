package worth

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"codeagent/sandbox"
)

func write(program, target string) sandbox.Denial {
	return sandbox.Denial{Kind: sandbox.KindWrite, Executable: program, Target: target}
}

func reach(program, host string) sandbox.Denial {
	return sandbox.Denial{Kind: sandbox.KindNetwork, Executable: program, Target: host}
}

// TestAsks: a refusal is worth a question if a text names its target, or if it is a host that a
// program tries again later.
func TestAsks(t *testing.T) {
	work, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"deploy.sh": "cp x /srv/site\n", "binary": "\x00 /srv/hidden"} {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("deploy.sh", work+"/link.sh"); err != nil {
		t.Fatal(err)
	}
	tool := "/usr/bin/tool"
	log, host := write(tool, "/home/u/.tool/log/1"), reach(tool, "update.example:443")
	for _, row := range []struct {
		name, text string
		wish       string
		no         *sandbox.Denial
		d          sandbox.Denial
		since      time.Duration // the first contact was so long ago
		want       bool
	}{
		{name: "not named", text: "tool x", d: log},
		{name: "named", text: "tool --log ~/.tool/log/1", d: log, want: true},
		{name: "named in two words", text: "cp a b /srv/", d: write("/bin/cp", "/srv/a")},
		{name: "protected and not named", text: "tool", d: sandbox.Denial{Kind: sandbox.KindProtected, Executable: tool, Target: "/w/.git/config"}},
		{name: "a socket, not named", text: "tool", d: sandbox.Denial{Kind: sandbox.KindSocket, Executable: tool, Target: "/run/nscd/socket"}},
		{name: "a socket, named", text: "tool /run/nscd/socket", d: sandbox.Denial{Kind: sandbox.KindSocket, Executable: tool, Target: "/run/nscd/socket"}, want: true},
		{name: "asked for", text: "tool", wish: "/home/u/.tool/log/1", d: log, want: true},
		{name: "in the justification", text: "tool", wish: "it writes ~/.tool/log/1, which you want", d: log, want: true},
		{name: "in its script", text: "bash deploy.sh", d: write("/bin/cp", "/srv/site"), want: true},
		{name: "in a script that it does not name", text: "bash other.sh", d: write("/bin/cp", "/srv/site")},
		{name: "in a file that is no text", text: "./binary", d: write("/bin/cp", "/srv/hidden")},
		{name: "behind a link out of the workspace", text: "bash /home/u/deploy.sh", d: write("/bin/cp", "/srv/site")},
		{name: "first contact", text: "tool", d: host},
		{name: "first contact, named", text: "curl https://update.example", d: host, want: true},
		{name: "several addresses at once", text: "tool", since: time.Second / 10, d: host},
		{name: "it tries again", text: "tool", since: 2 * time.Second, d: host, want: true},
		{name: "a probe for writing", text: "tool ~/.tool/log/1", d: sandbox.Denial{Kind: sandbox.KindWrite, Executable: tool, Target: log.Target, Probe: true}},
		{name: "after a no to the same program", text: "tool ~/a ~/b", no: ptr(write(tool, "/home/u/a")), d: write(tool, "/home/u/b")},
		{name: "after a no to another program", text: "tool ~/a ~/b", no: ptr(write("/bin/x", "/home/u/a")), d: write(tool, "/home/u/b"), want: true},
		{name: "after a no to another kind", text: "tool ~/b", no: ptr(host), d: write(tool, "/home/u/b"), want: true},
		{name: "after a no to the host", text: "tool", no: ptr(reach("/bin/x", "update.example:80")), d: host},
		{name: "after a no to its address", text: "tool", no: ptr(reach(tool, "192.0.2.1:80")), d: sandbox.Denial{Kind: sandbox.KindNetwork, Executable: tool, Target: "update.example:443", Requested: "192.0.2.1:443"}},
		{name: "after a no to another host", text: "tool", no: ptr(reach(tool, "other.example:80")), since: time.Minute, d: host, want: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := Begin(t.Context(), Command{Text: row.text, Folder: work, Home: "/home/u", Wishes: []string{row.wish}, Roots: []string{work}})
			if row.no != nil {
				r.Deny(*row.no)
			}
			if row.since > 0 {
				r.met = map[string]time.Time{row.d.Target: time.Now().Add(-row.since)}
			}
			if got := r.Asks(row.d); got != row.want {
				t.Errorf("asks: %v", got)
			}
		})
	}
}

func ptr(d sandbox.Denial) *sandbox.Denial { return &d }
