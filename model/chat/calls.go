package chat

import (
	"strings"

	"codeagent/internal/partial"
	"codeagent/model"
	"codeagent/model/wire"
)

// assembler puts tool calls together from their fragments. The rules are for
// providers that leave out or repeat what should tell calls apart:
//   - an index leads to its call, unless a new id and a name come with it
//     (servers that send parallel calls all with index 0) or the call is
//     complete and another object begins with a name;
//   - without an index an id leads to its call; a new id, or a name after a
//     call that has arguments, begins one; else the fragment continues the last;
//   - a call without an id gets one, and one whose id was used in the
//     conversation before gets another;
//   - what repeats the words of a complete call is that call,
//     where its id or its index does not say otherwise;
//   - arguments end with their object: what servers repeat behind it, and what
//     models babble there, belongs to no call. Only so may a call run before its
//     answer is over: what it ran with is what stands in the conversation.
type assembler struct {
	yield  func(model.Delta) bool
	source string
	used   wire.CallIDs
	calls  []*call
	older  *call // of the older form, which counts where no other call comes
	done   int   // how many of them are, from the first
	size   int   // bytes of all arguments
}

type call struct {
	index     int    // as the provider numbers it; -1 without
	theirs    string // the provider's id; may be empty
	id        string // ours, unique; set when started
	name      string
	arguments partial.Object
	started   bool
	kept      kept
}

func newAssembler(items []model.Item, source string, yield func(model.Delta) bool) assembler {
	return assembler{yield: yield, source: source, used: wire.NewCallIDs(items)}
}

func (a *assembler) any() bool { return len(a.calls) > 0 }

// add takes one fragment.
func (a *assembler) add(f *fragment) error {
	c := a.find(f)
	if c == nil {
		if len(a.calls) == wire.MaxCalls {
			return wire.TooManyCalls()
		}
		c = &call{index: -1, theirs: f.ID}
		if f.Index != nil {
			c.index = int(*f.Index)
		}
		a.calls = append(a.calls, c)
	}
	return a.more(c, f)
}

// more adds a fragment to its call.
func (a *assembler) more(c *call, f *fragment) error {
	if c.theirs == "" {
		c.theirs = f.ID
	}
	if len(f.Extra) > 0 && string(f.Extra) != "null" {
		c.kept.Extra = f.Extra
	}
	args, err := a.grow(c, &f.Function)
	if err != nil || args == "" {
		return err
	}
	if !c.started {
		if c.name == "" {
			return nil // kept until the name is known
		}
		return a.start(c)
	}
	if !a.yield(model.CallDelta{ID: c.id, Arguments: args}) {
		return wire.ErrStopped
	}
	return nil
}

// grow adds to a call's name and arguments and returns what was new of these.
func (a *assembler) grow(c *call, f *function) (string, error) {
	// A name comes whole, whole with each fragment, or in pieces.
	if n := f.Name; n != "" && n != c.name && !c.started {
		c.name += n
	}
	args := string(f.Arguments)
	if a.size += len(args); a.size > wire.MaxArguments {
		return "", wire.TooLargeCalls()
	}
	return args[:c.arguments.Write(args)], nil
}

// addOlder takes a fragment of the older form, of which an answer has one call.
// Servers send the same call in both forms, so it waits for the end.
func (a *assembler) addOlder(f *function) error {
	if a.older == nil {
		a.older = &call{index: -1}
	}
	_, err := a.grow(a.older, f)
	return err
}

// find is the call that f continues; nil when it begins one.
func (a *assembler) find(f *fragment) *call {
	if c := a.repeated(f); c != nil {
		return c
	}
	if f.Index != nil {
		for i := len(a.calls) - 1; i >= 0; i-- {
			c := a.calls[i]
			if c.index != int(*f.Index) {
				continue
			}
			if f.Function.Name == "" {
				return c
			}
			if f.ID != "" && c.theirs != "" && f.ID != c.theirs || f.ID == "" && opens(f) && c.arguments.Closed() {
				return nil
			}
			return c
		}
		return nil
	}
	if f.ID != "" {
		for _, c := range a.calls {
			if c.theirs == f.ID {
				return c
			}
		}
		if f.Function.Name != "" || len(a.calls) == 0 {
			return nil
		}
	}
	if len(a.calls) == 0 {
		return nil
	}
	last := a.calls[len(a.calls)-1]
	if f.Function.Name != "" && (f.Function.Name != last.name && last.arguments.Len() > 0 || opens(f) && last.arguments.Closed()) {
		return nil
	}
	return last
}

// start yields the call's beginning and the arguments that are there already.
func (a *assembler) start(c *call) error {
	c.started = true
	c.id = a.used.Unique(c.theirs)
	if !a.yield(model.CallStarted{ID: c.id, Name: c.name}) {
		return wire.ErrStopped
	}
	if c.arguments.Len() > 0 && !a.yield(model.CallDelta{ID: c.id, Arguments: c.arguments.Text()}) {
		return wire.ErrStopped
	}
	return nil
}

// settle yields the calls that nothing can change any more, in their order: a
// call whose arguments go on keeps those after it waiting. What is wanted back
// with a call comes with its fragments, and so does what is wanted back with the
// thinking before it: that goes along with the call.
func (a *assembler) settle(thinking *details) error {
	for a.done < len(a.calls) {
		c := a.calls[a.done]
		if !c.started || !c.arguments.Closed() {
			return nil
		}
		c.kept.Details = thinking.take()
		if !a.end(c) {
			return wire.ErrStopped
		}
	}
	return nil
}

// finish yields the calls that are not done; false when the consumer has enough.
func (a *assembler) finish() bool {
	if a.older != nil && !a.any() {
		a.calls = append(a.calls, a.older)
	}
	for a.done < len(a.calls) {
		c := a.calls[a.done]
		if !c.started && a.start(c) != nil || !a.end(c) {
			return false
		}
	}
	return true
}

// end yields the next call that is done, c.
func (a *assembler) end(c *call) bool {
	args := strings.TrimSpace(c.arguments.Text())
	if args == "" {
		args = "{}"
	}
	a.done++
	return a.yield(model.CallDone{Call: model.ToolCall{ID: c.id, Name: c.name, Arguments: args}, Opaque: c.kept.opaque(a.source)})
}
