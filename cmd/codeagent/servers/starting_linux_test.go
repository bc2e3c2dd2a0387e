package servers

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"codeagent/config/server"
	"codeagent/event"
	"codeagent/mcp/inquiry"
)

// heard is a face that keeps the notices.
type heard struct{ texts chan string }

func (h heard) Emit(e event.Event) {
	if n, ok := e.(event.Notice); ok {
		h.texts <- n.Text
	}
}

func (heard) Inquire(context.Context, inquiry.Question) (inquiry.Reply, error) {
	return inquiry.Reply{Action: inquiry.Declined}, nil
}

// TestRefusedWhileStarting: what a server is refused while it starts is known once afterwards.
func TestRefusedWhileStarting(t *testing.T) {
	o := testOptions(t)
	outside := filepath.Join(filepath.Dir(o.Workspace.Folder), "outside")
	// It begins with the first message, and answers that after it was let on.
	script := `cd "$CODEAGENT_SERVER_DIR"; read -r line; echo x >"$0"; echo x >begun; read -r _ <on
` + strings.Replace(answers, "r; ", "", 1)
	set := shell(t, script, outside)
	o.Configured = map[string]server.Settings{"t": set}
	own := (&Servers{options: o}).folder("t", set)
	if err := os.MkdirAll(own, 0o700); err != nil {
		t.Fatal(err)
	}
	begun, on := filepath.Join(own, "begun"), filepath.Join(own, "on")
	for _, path := range []string{begun, on} {
		if err := unix.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	said := filepath.Join(t.TempDir(), "stderr")
	var err error
	if o.Workspace.Stdio.Err, err = os.Create(said); err != nil {
		t.Fatal(err)
	}
	defer o.Workspace.Stdio.Err.Close()
	s := Open(t.Context(), o)
	defer s.Close()
	s.sayWaiting() // as a session does that has a required server, and no screen yet
	if text, err := os.ReadFile(said); err != nil || string(text) != "codeagent: waiting for 1 MCP server to start: t\n" {
		t.Errorf("%q, %v", text, err)
	}
	face := heard{make(chan string, 10)}
	s.Attach(face)
	if _, err := os.ReadFile(begun); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(on, []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if st := s.Status()[0]; st.State != Running || len(st.Refused) != 1 {
		t.Errorf("%+v", st)
	}
}

// TestRequiredAlone: a session waits at its begin for the servers that it requires, and for no other.
func TestRequiredAlone(t *testing.T) {
	o := testOptions(t)
	o.Configured = map[string]server.Settings{}
	for name, script := range map[string]string{"a": "read -r _; sleep 1000", "b": answers, "c": "sleep 1000"} {
		set := shell(t, script)
		set.Required = name == "b"
		o.Configured[name] = set
	}
	s := Open(t.Context(), o)
	defer s.Close()
	if err := s.Required(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a, b, c := s.members[0].status(), s.members[1].status(), s.members[2].status(); a.State != Starting || b.State != Running || c.State != Starting {
		t.Errorf("%s, %s, %s", a.State, b.State, c.State)
	}
}
