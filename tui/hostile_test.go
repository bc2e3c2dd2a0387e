package tui

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/tui/keys"
	"codeagent/tui/tuitest"
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
	for _, s := range tuitest.Nasty() {
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
					r.press("ctrl+o")
				}
			}
			var q approvals.Request
			stuff(reflect.ValueOf(&q).Elem(), s, 0)
			q.Options = []approvals.Option{{Key: "1", Label: s, Decision: approvals.Once}, {Key: "n", Label: s}}
			r.put(q)
			checkScreen(t, r)
			r.press("ctrl+y", "n")
			checkScreen(t, r)
			r.press("1")
			for _, page := range []string{"status", "permissions", "help"} {
				for _, c := range r.app.commands() {
					if c.Name == page {
						r.app.do(c.Run(""))
					}
				}
				checkScreen(t, r)
			}
			r.app.panel = nil
			r.app.paste(s)
			checkScreen(t, r)
			r.app.transcript.Act(keys.Top, r.app.canvas())
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
		tuitest.Harmless(t, l)
	}
}
