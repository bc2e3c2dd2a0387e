package tui

import (
	"context"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"codeagent/approvals"
	"codeagent/mcp/inquiry"
	"codeagent/tui/form"
	"codeagent/tui/part"
)

// inquire has a server ask without a goroutine, and returns where the answer goes.
func (r *rig) inquire(q inquiry.Question) *form.Ask {
	a := &form.Ask{Question: q, Reply: make(chan inquiry.Reply, 1)}
	r.app.box.post(a)
	r.send(inboxMsg{})
	return a
}

// wantReply checks the answer to a question of a server; "" before the first.
func (r *rig) wantReply(a *form.Ask, action string, values map[string]any) {
	r.t.Helper()
	var got inquiry.Reply
	select {
	case got = <-a.Reply:
	default:
	}
	if diff := cmp.Diff(inquiry.Reply{Action: action, Values: values}, got); diff != "" {
		r.t.Errorf("%s\n%s", diff, r.screen())
	}
}

// hostileForm is a form that has s in each of its texts.
func hostileForm(s string) inquiry.Question {
	q := inquiry.Question{Server: s, Message: s}
	for _, k := range []inquiry.Kind{inquiry.String, inquiry.Choice, inquiry.Choices, inquiry.Boolean, inquiry.Number} {
		q.Fields = append(q.Fields, inquiry.Field{Name: s + string(k), Title: s, Description: s, Kind: k, Choices: []string{s, s + "x"}, Default: s})
	}
	return q
}

func TestFormIsFilledIn(t *testing.T) {
	r := newRig(t, 80, 24)
	a := r.inquire(signUp())
	r.press("ctrl+y")
	r.typeText("Al")
	r.press("enter")
	r.has("must be at least 3 characters")
	r.send(tea.PasteMsg{Content: "ice\nin Wonder"})
	r.press("enter", "backspace", "backspace", "enter")
	r.wantReply(a, "", nil)
	r.has("window")               // an empty required field is not held up before the end,
	r.press("up", "space", "tab") // but one cannot leave a choice by accident
	r.press("down", "enter")
	r.has("Newsletter")
	r.press("down")
	r.typeText(" ")
	r.press("enter")
	r.typeText("12.5")
	r.press("enter")
	r.wantReply(a, "", nil)
	r.has("needs a value")
	r.typeText("42")
	r.press("enter", "enter", "enter", "enter", "enter")
	r.wantReply(a, inquiry.Accepted, map[string]any{"name": "Alice in Wonder", "age": 42.0, "seat": "aisle", "extras": []string{"dog"}, "mail": false, "budget": 12.5})
	r.has("question of the MCP server booking: answered")
	if !r.app.composer.Empty() {
		t.Errorf("the message holds %q", r.app.composer.Value())
	}
}

// TestFormNeverStealsTyping: like a request for a permission.
func TestFormNeverStealsTyping(t *testing.T) {
	y := newTypist(t)
	a := y.inquire(signUp())
	y.typeText("1 no, cats")
	y.wantReply(a, "", nil)
	if got := y.app.composer.Value(); got != "1 no, cats" {
		t.Errorf("the message holds %q", got)
	}
	y.app.composer.Clear()
	y.rig.press("left")
	y.pass(grace)
	y.rig.press("n")
	y.rig.press("o")
	y.pass(time.Second)
	y.wantReply(a, "", nil)
	if got := y.app.composer.Value(); got != "no" {
		t.Errorf("a word after a pause: the message holds %q", got)
	}
	y.app.composer.Clear()
	y.rig.press("left")
	y.pass(grace)
	y.rig.press("n")
	y.pass(answerHold)
	y.wantReply(a, inquiry.Declined, nil)
}

// TestFormEscOrder: Esc leaves the fields, disarms the form, and only then interrupts the turn.
func TestFormEscOrder(t *testing.T) {
	r := newRig(t, 80, 24)
	r.typeText("go")
	r.press("enter")
	r.inquire(signUp())
	r.press("ctrl+y", "esc", "esc")
	if r.stops != 0 {
		t.Error("the turn was interrupted while the form had the keys")
	}
	if r.press("esc"); r.stops != 1 {
		t.Error("Esc does not interrupt behind a form that was left")
	}
	r.typeText("later")
	if got := r.app.composer.Value(); got != "later" {
		t.Errorf("behind a form that was left, the message is %q", got)
	}
}

// TestFormAndPermission: a permission is asked about first, but not while a form is filled in.
func TestFormAndPermission(t *testing.T) {
	r := newRig(t, 80, 30)
	a := r.inquire(signUp())
	q := r.put(npmRequest("q"))
	r.has("npm install wants")
	r.press("ctrl+y", "s")
	r.wantAnswer(q, approvals.Stop, "")
	r.has("booking asks")
	r.press("ctrl+y")
	r.typeText("Ada")
	q = r.put(npmRequest("r"))
	r.typeText("s1n")
	r.wantNone(q)
	r.has("Adas1n", "1 more", "Esc permission request waiting")
	r.press("esc")
	r.has("npm install wants")
	r.typeText("n")
	r.wantReply(a, "", nil)
	r.wantNone(q)
}

func TestFormIsWithdrawn(t *testing.T) {
	s := New(Options{})
	ctx, stop := context.WithCancel(t.Context())
	replied := make(chan inquiry.Reply)
	go func() {
		r, _ := s.Inquire(ctx, signUp())
		replied <- r
	}()
	stop()
	if r := <-replied; r.Action != inquiry.Cancelled {
		t.Errorf("a question that ended is answered %q", r.Action)
	}
	r := newRig(t, 80, 24)
	a := r.inquire(signUp())
	r.press("ctrl+y")
	r.app.box.post(part.Withdrawn{Ask: a})
	r.send(inboxMsg{})
	r.lacks("booking asks")
	r.typeText("hello")
	if got := r.app.composer.Value(); got != "hello" {
		t.Errorf("the message holds %q", got)
	}
}
