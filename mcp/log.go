package mcp

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// A server that logs without end is heard this often: logBurst messages at once, then one for
// each logEvery.
const (
	logBurst = 50
	logEvery = time.Second
)

// logger hands on what is worth telling, bounded in length and in number. It is the SDK's
// logger too.
type logger struct {
	tell func(level, text string)

	mu     sync.Mutex
	left   int
	at     time.Time
	missed int
	banner string // what was printed last before the first message
	once   map[string]bool
}

// mostOnce bounds what sayOnce remembers.
const mostOnce = 2 * maxTools

// sayOnce tells a warning that was not told before: a list that changes is read often.
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
	return &logger{tell: tell, left: logBurst}
}

// say tells text, unless too much was reported lately.
func (l *logger) say(level, s string) {
	if l.tell == nil {
		return
	}
	switch level {
	case "debug", "info", "warning", "error":
	case "notice":
		level = "info"
	case "critical", "alert", "emergency":
		level = "error"
	default:
		level = "info"
	}
	missed, ok := l.take(time.Now())
	if !ok {
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

// take reports whether another message may be told now, and how many were not.
func (l *logger) take(now time.Time) (missed int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if more := int(now.Sub(l.at) / logEvery); more > 0 {
		l.left = min(logBurst, l.left+more)
		l.at = now
	}
	if l.left == 0 {
		l.missed++
		return 0, false
	}
	l.left--
	missed, l.missed = l.missed, 0
	return missed, true
}

// Enabled is part of slog.Handler: the SDK's warnings and errors count.
func (l *logger) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// Handle is part of slog.Handler.
func (l *logger) Handle(_ context.Context, r slog.Record) error {
	s := r.Message
	r.Attrs(func(a slog.Attr) bool {
		s += fmt.Sprintf(" %s=%v", a.Key, a.Value)
		return true
	})
	l.say("debug", s)
	return nil
}

// WithAttrs is part of slog.Handler.
func (l *logger) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup is part of slog.Handler.
func (l *logger) WithGroup(string) slog.Handler { return l }
