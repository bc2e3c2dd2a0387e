package agent

import (
	"fmt"
	"runtime"
	"strings"
)

// bugError is a recovered panic, with its place.
type bugError struct {
	value any
	place string // "tools/shell.go:12", "" if it is not known
}

func (e *bugError) Error() string {
	text := fmt.Sprintf("bug: %v", e.value)
	if e.place != "" {
		text += " (" + e.place + ")"
	}
	return text
}

// contain runs f and converts a panic to a *bugError. Goroutines that f starts are not
// covered.
func contain(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &bugError{value: v, place: panicPlace()}
		}
	}()
	return f()
}

// panicPlace returns the file and line that panicked, called in a deferred function: the
// first frame below the runtime's own.
func panicPlace() string {
	callers := make([]uintptr, 32)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	panicked := false
	for {
		f, more := frames.Next()
		inRuntime := strings.HasPrefix(f.Function, "runtime.")
		if panicked && !inRuntime {
			parts := strings.Split(f.File, "/")
			return fmt.Sprintf("%s:%d", strings.Join(parts[max(len(parts)-2, 0):], "/"), f.Line)
		}
		panicked = panicked || f.Function == "runtime.gopanic"
		if !more {
			return ""
		}
	}
}
