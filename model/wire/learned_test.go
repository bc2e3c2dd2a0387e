package wire

import (
	"errors"
	"testing"

	"codeagent/model"
)

// noQuirks learns nothing.
type noQuirks struct{}

func (noQuirks) After(error) (noQuirks, bool) { return noQuirks{}, false }

// A refusal of images is learned only if no part of an answer came before.
func TestAnswerThatBeganIsNotAskedForAgain(t *testing.T) {
	t.Parallel()
	refused := &model.Error{Kind: model.BadRequest, Message: "the image is not valid"}
	r := model.Request{Model: "m", Items: []model.Item{{Kind: model.User, Images: []model.Image{{Sum: "s", Data: []byte("x")}}}}}
	for _, began := range []bool{false, true} {
		var told []model.Delta
		yield := func(d model.Delta) error {
			told = append(told, d)
			return nil
		}
		tries := 0
		var l refusals[noQuirks]
		err := l.ask(r, yield, func(_ model.Request, _ noQuirks, v *View, yield Yield) error {
			tries++
			if began {
				_ = yield(model.TextDelta{Text: "so"})
			}
			if len(v.sent) > 0 {
				return refused
			}
			return nil
		})
		if began && (tries != 1 || !errors.Is(err, refused) || len(told) != 1) {
			t.Errorf("an answer that began: %d tries, %v, told %v", tries, err, told)
		}
		if !began && (tries != 2 || err != nil || len(told) != 1 || told[0] != model.Delta(model.Unseen{Err: refused})) {
			t.Errorf("a refusal: %d tries, %v, told %v", tries, err, told)
		}
	}
}
