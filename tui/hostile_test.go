package tui

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/sandbox"
)

// Every event is handled, also when nothing in it is set.
func TestAllEventsAreHandled(t *testing.T) {
	r := newRig(t, 80, 40)
	for _, e := range event.All() {
		r.emit(e)
		r.lacks("unknown event")
	}
	for _, e := range event.All() {
		r.emit(e)
	}
	r.screen()
	if r.app.transcript.answer != nil || r.app.transcript.thought != nil {
		t.Error("a finished turn leaves an answer open")
	}
}

// stuff sets every string, byte slice and list below v to hostile text.
func stuff(v reflect.Value, s string, depth int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(s)
	case reflect.Int, reflect.Int64:
		v.SetInt(3)
	case reflect.Uint16:
		v.SetUint(443)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(s))
			return
		}
		if depth < 6 {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			for i := range v.Len() {
				stuff(v.Index(i), s, depth+1)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				stuff(f, s, depth+1)
			}
		}
	case reflect.Interface:
		if v.Type() == reflect.TypeFor[error]() {
			v.Set(reflect.ValueOf(errors.New(s)))
		}
	}
}

// Whatever an event or a question says, the screen holds visible characters
// only, in exactly its rows and columns.
func TestHostileEvents(t *testing.T) {
	kinds := map[string][]string{"Kind": {"command", "edit", "read", "plan"}}
	for _, s := range nasty() {
		for _, w := range []int{9, 40, 100} {
			r := newRig(t, w, 30)
			for _, zero := range event.All() {
				v := reflect.New(reflect.TypeOf(zero)).Elem()
				stuff(v, s, 0)
				for _, kind := range kinds["Kind"] {
					if f := v.FieldByName("Kind"); f.IsValid() {
						f.SetString(kind)
					}
					r.emit(v.Interface().(event.Event))
				}
			}
			for _, e := range r.app.transcript.entries {
				e.open = true
			}
			var q approvals.Request
			stuff(reflect.ValueOf(&q).Elem(), s, 0)
			q.Options = []approvals.Option{{Key: "1", Label: s, Decision: approvals.Once}, {Key: "n", Label: s, Disabled: s}}
			r.put(q)
			checkScreen(t, r)
			r.press("ctrl+y", "n")
			checkScreen(t, r)
			r.press("1")
			for _, page := range []string{"status", "permissions", "help"} {
				for _, c := range commands() {
					if c.name == page {
						c.run(r.app, "")
					}
				}
				checkScreen(t, r)
			}
			r.app.panel = nil
			r.app.paste(s)
			checkScreen(t, r)
			r.app.transcript.home(r.app.canvas())
			checkScreen(t, r)
		}
	}
}

func checkScreen(t *testing.T, r *rig) {
	t.Helper()
	lines := strings.Split(r.app.View().Content, "\n")
	if len(lines) != r.app.height {
		t.Fatalf("%d rows on a screen of %d", len(lines), r.app.height)
	}
	for _, l := range lines {
		harmlessLine(t, l)
	}
}

func TestDenialWords(t *testing.T) {
	for _, c := range []struct {
		d    sandbox.Denial
		want string
	}{
		{sandbox.Denial{Kind: sandbox.KindWrite, Target: "/home/ada/.npm/_cacache"}, "⊘ write ~/.npm/_cacache (outside the workspace)"},
		{sandbox.Denial{Kind: sandbox.KindNetwork, Target: "example.org:443", Count: 3}, "⊘ connect example.org:443 ×3 (no network)"},
		{sandbox.Denial{Kind: sandbox.KindNetwork, Target: "example.org"}, "⊘ look up example.org (no network)"},
		{sandbox.Denial{Kind: sandbox.KindWrite, Target: "/x\n⊘ write /y"}, "⊘ write /x␊⊘ write /y (outside the workspace)"},
		{sandbox.Denial{Kind: sandbox.KindWrite, Target: "/" + strings.Repeat("é", 400) + "/z"}, "⊘ write /" + strings.Repeat("é", 79) + "…" + strings.Repeat("é", 78) + "/z (outside the workspace)"},
		{sandbox.Denial{Kind: sandbox.KindMetadata, Operation: "fchmodat", Target: "/x"}, "⊘ change the mode of /x (outside the workspace)"},
		{sandbox.Denial{Kind: sandbox.KindMetadata, Operation: "utimensat", Target: "/x"}, "⊘ change the times of /x (outside the workspace)"},
		{sandbox.Denial{Kind: sandbox.KindMetadata, Operation: "flock", Target: "/x"}, "⊘ lock /x (outside the workspace)"},
		{sandbox.Denial{Kind: sandbox.KindMetadata, Operation: "ioctl", Target: "/x"}, "⊘ ioctl /x (outside the workspace)"},
		{sandbox.Denial{Kind: sandbox.KindProtected, Target: "/w/.git/hooks"}, "⊘ write /w/.git/hooks (protected)"},
		{sandbox.Denial{Kind: sandbox.KindRead, Target: "/w/.env"}, "⊘ read /w/.env (protected from reading)"},
		{sandbox.Denial{Kind: sandbox.KindRead, Target: "/s/undo", Why: "codeagent's own"}, "⊘ read /s/undo (codeagent's own)"},
		{sandbox.Denial{Kind: sandbox.KindSyscall, Target: "ptrace"}, "⊘ call ptrace (system call not allowed)"},
		{sandbox.Denial{Kind: sandbox.KindWrite, Target: "/x", Moot: true, MootReason: "/x does not exist"}, "⊘ write /x (/x does not exist)"},
	} {
		var got strings.Builder
		for _, s := range refused(c.d, "/home/ada", false) {
			got.WriteString(s.text)
		}
		if got.String() != c.want {
			t.Errorf("got %q, want %q", got.String(), c.want)
		}
	}
}
