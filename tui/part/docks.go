package part

import "slices"

// Docks are what waits for the person, the oldest first.
type Docks []Dock

// Front is the dock that is shown, or nil.
func (d Docks) Front() (front Dock) {
	for _, one := range d {
		if front == nil || one.Rank() > front.Rank() {
			front = one
		}
	}
	return front
}

// Add makes a dock for a, unless one asks the same already.
func (d *Docks) Add(a Ask, s Setting) {
	if !slices.ContainsFunc(*d, func(one Dock) bool { return one.Join(a) }) {
		s.Free = !slices.ContainsFunc(*d, func(one Dock) bool { return one.Rank() != First })
		*d = append(*d, a.Dock(s))
	}
}

// Insert makes a dock in front of others of its rank: the person asked for this question.
func (d *Docks) Insert(a Ask, s Setting) {
	d.Disarm()
	*d = slices.Insert(*d, 0, a.Dock(s))
}

// Withdraw takes an ask away that nobody waits for any more.
func (d *Docks) Withdraw(a Ask) {
	*d = slices.DeleteFunc(*d, func(one Dock) bool { return one.Withdraw(a) })
}

// Remove ends a dock.
func (d *Docks) Remove(gone Dock) {
	*d = slices.DeleteFunc(*d, func(one Dock) bool { return one == gone })
}

// Disarm takes the keys from all: the person types elsewhere.
func (d Docks) Disarm() {
	for _, one := range d {
		one.Disarm()
	}
}

// View draws the one in front.
func (d Docks) View(c Canvas, h int) Drawn {
	front := d.Front()
	if front == nil {
		return Drawn{}
	}
	c.More = len(d) - 1
	c.Urgent = slices.ContainsFunc(d, func(one Dock) bool { return one != front && one.Rank() == First })
	return front.View(c, h)
}
