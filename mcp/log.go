package mcp

import (
	"fmt"
	"sync"

	"golang.org/x/time/rate"
)

// logger hands on what is worth telling, bounded in length and in number.
type logger struct {
	tell func(level, text string)
	rate *rate.Limiter // of a server that logs without end

	mu     sync.Mutex
	missed int
	banner string // what was printed last before the first message
	once   map[string]bool
}

// mostOnce bounds what sayOnce remembers.
const mostOnce = 2 * maxTools

// sayOnce tells a warning that was not told before: a server may have its lists read every second.
func (l *logger) sayOnce(s string) {
	l.mu.Lock()
	known := l.once[s]
	if l.once == nil || len(l.once) >= mostOnce {
		l.once = map[string]bool{}
	}
	l.once[s] = true
	l.mu.Unlock()
	if !known {
		l.say("warning", s)
	}
}

func newLogger(tell func(level, text string)) *logger {
	return &logger{tell: tell, rate: rate.NewLimiter(1, 50)}
}

// say tells text, unless too much was reported lately.
func (l *logger) say(level, s string) {
	if l.tell == nil {
		return
	}
	l.mu.Lock()
	told, missed := l.rate.Allow(), l.missed
	l.missed = 0
	if !told {
		l.missed = missed + 1
	}
	l.mu.Unlock()
	if !told {
		return
	}
	if missed > 0 {
		l.tell("warning", fmt.Sprintf("%d messages of this server were left out, because there were too many", missed))
	}
	l.tell(level, text(s, maxError))
}

// keep keeps what a server printed before its first message.
func (l *logger) keep(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.banner = line(s, maxError)
}

// printed is what keep kept.
func (l *logger) printed() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.banner
}
