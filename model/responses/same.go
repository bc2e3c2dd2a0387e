package responses

import "codeagent/model/wire"

// meant is the item that o completes; nil where it is one of its own. A call that
// is taken for another runs twice, so all that may tell is looked at: what most
// surely does decides, and among equals the last.
func (s *items) meant(o *output, index *float64) *item {
	if o.Type != kindCall {
		return s.find(o.Type, o.ID, index)
	}
	var best *item
	most := 0
	for i := len(s.all) - 1; i >= 0; i-- {
		if it := s.all[i]; it.kind == kindCall {
			if n := it.meant(o, index); n > most {
				best, most = it, n
			}
		}
	}
	return best
}

// meant is how surely o completes it, a call; 0: it does not. A call that is
// closed was reported already, and is meant again only where nothing is new.
func (it *item) meant(o *output, index *float64) int {
	var (
		id     = o.ID != "" && it.id == o.ID
		called = o.CallID != "" && it.callID == o.CallID
		other  = o.CallID != "" && it.callID != "" && it.callID != o.CallID
		placed = index != nil && it.index == int(*index)
	)
	switch {
	case id && (!it.closed || !other || it.says(o)):
		return 6
	case called && placed && !it.closed:
		return 5
	case called && it.closed && it.says(o):
		return 4
	case called && !it.closed:
		return 3
	case (placed || index == nil) && !it.closed && (!other || it.says(o)):
		return 2
	case (placed || index == nil && o.ID == "") && it.closed && !other && it.says(o):
		return 1
	}
	return 0
}

// says reports whether the call it is in words the call o.
func (it *item) says(o *output) bool {
	return it.name == o.Name && wire.SameJSON(it.arguments.String(), string(o.Arguments))
}
