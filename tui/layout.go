package tui

// wants is what the parts of the screen ask for, in rows.
type wants struct {
	question int  // 0 when none is open
	full     bool // the full view of one is open
	queued   int  // messages that wait
	menu     int  // command choices
	composer int  // rows of the message
}

// band is height rows from row top on.
type band struct{ top, height int }

// areas is where each part is drawn. A part of height 0 is not drawn.
type areas struct {
	transcript, question, status, queued, menu, rule, composer, footer band
}

const (
	// leastTranscript is how many rows a question leaves to the transcript.
	leastTranscript = 3
	// low is the height below which a question gets everything but the message and
	// the footer: its answers must be visible.
	low = 18
)

// questionRoom is how many of h rows a question may take, above a message of one
// row.
func questionRoom(h int) int {
	if h < low {
		return max(h-3, 1)
	}
	return h - leastTranscript - 4
}

// arrange divides h rows, from top to bottom: transcript, question, status,
// queued, menu, rule, composer, footer. If they do not fit, they lose rows in this
// order: queued and menu, the question's lower part, status, footer, rule. The
// composer keeps one row, and the transcript gets what is left.
func arrange(h int, w wants) areas {
	composer := max(min(w.composer, max(h/3, 1), 12), 1)
	left := h - composer
	take := func(n, reserve int) int {
		n = max(min(n, left-reserve), 0)
		left -= n
		return n
	}
	rule := take(1, 1)
	footer := take(1, 1)
	least := min(leastTranscript, left/2)
	wantStatus := 1
	if w.question > 0 && h < low {
		least, wantStatus = 0, 0
	}
	if w.full && h < low {
		wantStatus = 0
	}
	status := take(wantStatus, 1)
	question := take(w.question, least)
	menu := take(w.menu, least)
	queued := take(w.queued, least)
	heights := []int{max(left, 0), question, status, queued, menu, rule, composer, footer}
	var a areas
	top := 0
	for i, b := range []*band{&a.transcript, &a.question, &a.status, &a.queued, &a.menu, &a.rule, &a.composer, &a.footer} {
		*b = band{top, heights[i]}
		top += heights[i]
	}
	return a
}
