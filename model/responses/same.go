package responses

import "codeagent/model/wire"

// meant returns the item that o completes; nil if o is a new item. A call that is mistaken
// for another runs twice, so all evidence is compared: the strongest decides, and among equals
// the last item.
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

// meant returns how certain it is that o completes it, a call; 0 means that it does not. A
// closed call was reported already, and matches again only if o has nothing new.
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

// says reports whether it and o are the same call by name and arguments.
func (it *item) says(o *output) bool {
	return it.name == o.Name && wire.SameJSON(it.arguments.String(), string(o.Arguments))
}
