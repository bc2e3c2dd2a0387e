package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/model"
	"codeagent/sandbox"
	"codeagent/tools"
)

func picture(name string) model.Image {
	return model.Image{Name: name, MediaType: "image/png", Width: 4, Height: 3, Data: []byte(name)}
}

// warnings returns the texts of the reported warnings.
func (f *face) warnings() string {
	var all []string
	for _, n := range told[event.Notice](f) {
		if n.Level == "warning" {
			all = append(all, n.Text)
		}
	}
	return strings.Join(all, "\n")
}

// TestImagesGoAlong: images of a message and of a result are in the conversation, in the log
// and in the events.
func TestImagesGoAlong(t *testing.T) {
	looking := npm(approvals.Wish{})
	looking.run = func(_ context.Context, _ sandbox.Policy, s tools.Stage) (tools.Result, error) {
		return tools.Result{Text: fmt.Sprint("blind: ", s.Blind), Outcome: word.OK, Images: []model.Image{picture("b")}}, nil
	}
	r := newRig(approvals.OnRequest, toolbox{"view": looking}, play(call("1", "view")), play("seen"))
	if err := r.Turn(t.Context(), Input{Text: "look", Images: []model.Image{picture("a")}}); err != nil {
		t.Fatal(err)
	}
	r.check(t)
	for what, items := range map[string][]model.Item{"conversation": r.History(), "log": r.log.items, "request": r.model.requests[1].Items} {
		if len(items) < 3 || len(items[0].Images) != 1 || items[0].Images[0].Name != "a" || items[2].Kind != model.Result || len(items[2].Images) != 1 || items[2].Text != "blind: false" {
			t.Errorf("the %s: %+v", what, items)
		}
	}
	if e := told[event.TurnStarted](r.face)[0]; len(e.Images) != 1 || e.Images[0] != "a (PNG, 4×3)" {
		t.Errorf("%+v", e)
	}
}

// TestImagesUnseen: a person who sends images to a model that sees none is warned, and
// requests and tools are marked; another model sees them.
func TestImagesUnseen(t *testing.T) {
	looking := npm(approvals.Wish{})
	looking.run = func(_ context.Context, _ sandbox.Policy, s tools.Stage) (tools.Result, error) {
		return tools.Result{Text: fmt.Sprint("blind: ", s.Blind), Outcome: word.OK}, nil
	}
	r := newRig(approvals.OnRequest, toolbox{"view": looking}, play(call("1", "view")), play("no"), play("yes"))
	if err := r.Use(Choice{Model: r.model, ModelName: "mole", Blind: true}); err != nil {
		t.Fatal(err)
	}
	if err := r.Turn(t.Context(), Input{Text: "look", Images: []model.Image{picture("a")}}); err != nil {
		t.Fatal(err)
	}
	if got := r.face.warnings(); got != "mole cannot see images and gets descriptions of them instead" {
		t.Errorf("warnings: %q", got)
	}
	if name, blind := r.Blind(); name != "mole" || !blind || !r.model.requests[0].Blind || r.History()[2].Text != "blind: true" {
		t.Errorf("%s is blind: %v; %s", name, blind, dump(r.History()))
	}
	if err := r.Use(Choice{Model: r.model, ModelName: "eagle"}); err != nil {
		t.Fatal(err)
	}
	if err := r.Turn(t.Context(), Input{Text: "and now?"}); err != nil {
		t.Fatal(err)
	}
	if last := r.model.requests[2]; last.Blind || len(last.Items[0].Images) != 1 {
		t.Errorf("the other model's request: %+v", last)
	}
}

// TestImagesRefused: the provider's message about images is shown to the person.
func TestImagesRefused(t *testing.T) {
	because := &model.Error{Kind: model.BadRequest, Message: "no pictures"}
	for _, c := range []struct {
		blind bool
		want  string
	}{{true, "m cannot see images"}, {false, "does not take the images"}} {
		r := newRig(approvals.OnRequest, toolbox{}, play(model.Unseen{Err: because, Blind: c.blind}, "fine"))
		if err := r.Turn(t.Context(), Input{Text: "look", Images: []model.Image{picture("a")}}); err != nil {
			t.Fatal(err)
		}
		if got := r.face.warnings(); !strings.Contains(got, c.want) || !strings.Contains(got, "no pictures") {
			t.Errorf("warnings: %q", got)
		}
	}
}

// TestImagesTooMany: a message has at most MaxImages, and the rest is reported.
func TestImagesTooMany(t *testing.T) {
	r := newRig(approvals.OnRequest, toolbox{}, play("fine"))
	var many []model.Image
	for i := range MaxImages + 3 {
		many = append(many, picture(fmt.Sprint(i)))
	}
	if err := r.Turn(t.Context(), Input{Text: "look", Images: many}); err != nil {
		t.Fatal(err)
	}
	if n := len(r.History()[0].Images); n != MaxImages || !strings.Contains(r.face.warnings(), "the last 3 were left out") {
		t.Errorf("%d images, %q", n, r.face.warnings())
	}
	if n := len(told[event.TurnStarted](r.face)[0].Images); n != MaxImages {
		t.Errorf("TurnStarted has %d images, want %d", n, MaxImages)
	}
}

// TestOldImagesAreLetGo: the memory for images is bounded however long the conversation is;
// earlier copies of the history do not change.
func TestOldImagesAreLetGo(t *testing.T) {
	a := New(Config{})
	most, held := 0, a.items
	for i := range 20 * model.MaxImages.Shown {
		a.remember(model.Item{Kind: model.User, Text: "look", Images: []model.Image{picture(fmt.Sprint(i))}}, model.Item{Kind: model.Assistant, Text: "seen"})
		if i == model.MaxImages.Shown {
			held = a.items[:len(a.items):len(a.items)]
		}
		n := 0
		for _, item := range a.items {
			for _, img := range item.Images {
				if len(img.Data) > 0 {
					n++
				}
			}
		}
		most = max(most, n)
		if last := a.items[len(a.items)-2]; len(last.Images[0].Data) == 0 || n < min(i, model.MaxImages.Shown/2) {
			t.Fatalf("after %d images %d are there", i+1, n)
		}
	}
	if most != 2*model.MaxImages.Shown {
		t.Errorf("%d images were held at once", most)
	}
	for i, item := range held {
		if len(item.Images) > 0 && len(item.Images[0].Data) == 0 {
			t.Fatalf("item %d of an earlier request lost its image", i)
		}
	}
	large := picture("large")
	large.Data = make([]byte, model.MaxImages.File)
	for range 100 {
		a.remember(model.Item{Kind: model.User, Images: []model.Image{large}})
	}
	size := 0
	for _, item := range a.items {
		for _, img := range item.Images {
			size += len(img.Data)
		}
	}
	if size > 2*model.MaxImages.Bytes {
		t.Errorf("%d bytes of images are held", size)
	}
}

// tooBig is the error of a proxy that bounds requests in bytes.
var tooBig = &model.Error{Kind: model.ContextFull, Status: 413, Message: "the request is too large"}

// A request refused for its size in bytes is sent again without the images that the model
// requested: those are dropped before the turn fails.
func TestImagesLeftOutOfARefusedRequest(t *testing.T) {
	looking := npm(approvals.Wish{})
	looking.run = func(context.Context, sandbox.Policy, tools.Stage) (tools.Result, error) {
		return tools.Result{Text: "it is shown", Outcome: word.OK, Images: []model.Image{picture("b")}}, nil
	}
	r := newRig(approvals.OnRequest, toolbox{"view": looking}, play(call("1", "view")), []any{tooBig}, play("I saw nothing"))
	if err := r.Turn(t.Context(), Input{Text: "look"}); err != nil {
		t.Fatal(err)
	}
	last := r.model.requests[2].Items
	for _, i := range last {
		for _, p := range i.Images {
			if len(p.Data) > 0 {
				t.Errorf("%s is sent again", p.Name)
			}
		}
	}
	if n := last[len(last)-1]; n.Kind != model.Note || !strings.Contains(n.Text, "images before this point were left out") {
		t.Errorf("%+v", n)
	}
	if got := r.face.warnings(); !strings.Contains(got, "without the 1 images") {
		t.Errorf("warned %q", got)
	}
	r.check(t)
}

// If the person's own images are too large, the person must shrink them. A server that does
// not even accept the instructions is not reported as a small model.
func TestRequestsThatAreTooLargeForTheServer(t *testing.T) {
	for want, in := range map[error]Input{ErrLargeImages: {Text: "look", Images: []model.Image{picture("a")}}, ErrSmallServer: {Text: "go"}} {
		r := newRig(approvals.OnRequest, toolbox{}, []any{tooBig})
		r.cfg.Instructions = func() string { return strings.Repeat("be good ", 2000) }
		if err := r.Turn(t.Context(), in); !errors.Is(err, want) || len(r.model.requests) != 1 {
			t.Errorf("%v after %d requests, want %v", err, len(r.model.requests), want)
		}
		r.check(t)
	}
}
