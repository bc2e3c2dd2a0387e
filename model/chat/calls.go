package chat

import (
	"cmp"
	"slices"
	"strings"

	"codeagent/internal/partial"
	"codeagent/model"
	"codeagent/model/wire"
)

// assembler builds tool calls from their fragments. The rules allow for providers that
// leave out or repeat the values that distinguish calls:
//   - an index identifies its call, unless a new id and a name come with it
//     (servers that send parallel calls all with index 0) or the call is
//     complete and another object begins with a name;
//   - without an index an id identifies its call; a new id, or a name after a
//     call that has arguments, begins a new call; otherwise the fragment continues the last;
//   - a call without an id gets one, and a call whose id was used earlier in the
//     conversation gets another;
//   - a fragment that begins nothing, with an index that no call has, continues the open call;
//   - an empty object is the arguments only if no other object follows;
//   - a fragment with the content of a complete call is that call, unless its id or its
//     index says otherwise;
//   - arguments end with their JSON object: what servers repeat or models write after it
//     belongs to no call. Therefore a call may run before its answer is over, with exactly
//     the arguments that the conversation records.
type assembler struct {
	yield  wire.Yield
	source string
	used   wire.CallIDs
	calls  []*call
	older  *call // of the older form, used only if no other call comes
	done   int   // how many calls are done, from the first
	size   int   // bytes of all arguments
}

type call struct {
	index     int    // the provider's index; -1 if absent
	theirs    string // the provider's id; may be empty
	id        string // our id, unique; set when started
	name      string
	arguments partial.Object
	started   bool
	// blank: the arguments came as an empty object. Some servers send it before the real ones.
	blank bool
	kept  kept
}

func (a *assembler) any() bool { return len(a.calls) > 0 }

// add takes one fragment.
func (a *assembler) add(f *fragment) error {
	c := a.find(f)
	if c == nil {
		if err := wire.BoundCalls(len(a.calls)+1, 0); err != nil {
			return err
		}
		c = &call{index: -1, theirs: f.ID}
		if f.Index != nil {
			c.index = int(*f.Index)
		}
		a.calls = append(a.calls, c)
	}
	return a.more(c, f)
}

// more adds a fragment to call c.
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
	if c.started && c.blank {
		return nil // kept until something follows
	}
	if !c.started {
		if c.name == "" {
			return nil // kept until the name is known
		}
		return a.start(c)
	}
	return a.yield(model.CallDelta{ID: c.id, Arguments: args})
}

// grow adds to a call's name and arguments and returns the new part of the arguments.
func (a *assembler) grow(c *call, f *function) (string, error) {
	// A name comes at once, again with each fragment, or in pieces.
	if n := f.Name; n != "" && n != c.name && !c.started {
		c.name += n
	}
	args := string(f.Arguments)
	if c.blank && strings.HasPrefix(strings.TrimSpace(args), "{") {
		c.arguments = partial.Object{}
	}
	c.blank = c.arguments.Len() == 0 && strings.TrimSpace(args) == "{}" || c.blank && args == ""
	a.size += len(args)
	return args[:c.arguments.Write(args)], wire.BoundCalls(0, a.size)
}

// addOlder takes a fragment of the older form, in which an answer has one call. Servers send
// the same call in both forms, so it is kept until the end.
func (a *assembler) addOlder(f *function) error {
	if a.older == nil {
		a.older = &call{index: -1}
	}
	_, err := a.grow(a.older, f)
	return err
}

// find returns the call that f continues; nil when f begins a new call.
func (a *assembler) find(f *fragment) *call {
	if c := a.repeated(f); c != nil {
		return c
	}
	if f.Index != nil {
		for _, c := range slices.Backward(a.calls) {
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
		return a.unnamed(f)
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

// unnamed returns the open call, if f has an index that no call has and begins none itself.
func (a *assembler) unnamed(f *fragment) *call {
	if len(a.calls) == 0 || f.ID != "" || f.Function.Name != "" {
		return nil
	}
	if last := a.calls[len(a.calls)-1]; last.blank || !last.arguments.Closed() {
		return last
	}
	return nil
}

// start yields the call's beginning and the arguments received so far.
func (a *assembler) start(c *call) error {
	c.started = true
	c.id = a.used.Unique(c.theirs)
	if err := a.yield(model.CallStarted{ID: c.id, Name: c.name}); err != nil || c.arguments.Len() == 0 || c.blank {
		return err
	}
	return a.yield(model.CallDelta{ID: c.id, Arguments: c.arguments.Text()})
}

// settle yields the calls that are final, in their order: a call whose arguments are still
// incomplete holds back those after it. What the provider wants back arrives with a call's
// fragments, or with the thinking before the call; both are stored with the call.
func (a *assembler) settle(thinking *details) error {
	for a.done < len(a.calls) {
		c := a.calls[a.done]
		if !c.started || !c.arguments.Closed() || c.blank && a.done == len(a.calls)-1 {
			return nil
		}
		c.kept.Details = thinking.take()
		if err := a.end(c); err != nil {
			return err
		}
	}
	return nil
}

// finish yields the calls that are not done.
func (a *assembler) finish() error {
	if a.older != nil && !a.any() {
		a.calls = append(a.calls, a.older)
	}
	for a.done < len(a.calls) {
		c := a.calls[a.done]
		if !c.started {
			if err := a.start(c); err != nil {
				return err
			}
		}
		if err := a.end(c); err != nil {
			return err
		}
	}
	return nil
}

// end yields the next complete call, c.
func (a *assembler) end(c *call) error {
	args := cmp.Or(strings.TrimSpace(c.arguments.Text()), "{}")
	a.done++
	return a.yield(model.CallDone{Call: model.ToolCall{ID: c.id, Name: c.name, Arguments: args}, Opaque: c.kept.opaque(a.source)})
}
