package servers

import "codeagent/sandbox"

// observer returns who records the changes of a server before its first call; nil where nothing is
// recorded.
func (m *member) observer() sandbox.ChangeObserver {
	if u := m.all.options.Undo; u != nil {
		return notOwn(u.Call(), m.box.own)
	}
	return nil
}

// foreign reports to an observer the changes outside the server's private folder: what lies there
// is the server's memory, and undo does not take that back.
type foreign struct {
	sandbox.ChangeObserver
	own string
}

// notOwn returns o without the changes below own, nil for nil.
func notOwn(o sandbox.ChangeObserver, own string) sandbox.ChangeObserver {
	if o == nil {
		return nil
	}
	return foreign{o, own}
}

func (f foreign) BeforeChange(dir int, name, path string) {
	if !sandbox.Covers(f.own, path) {
		f.ChangeObserver.BeforeChange(dir, name, path)
	}
}

func (f foreign) Unsaved(dir int, name, path string) (why string) {
	if sandbox.Covers(f.own, path) {
		return ""
	}
	return f.ChangeObserver.Unsaved(dir, name, path)
}
