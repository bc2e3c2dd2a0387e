package agent

import (
	"fmt"
	"runtime"
	"strings"
)

// bugError is a panic of ours, with the place it came from.
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

// contain runs f; a panic in it becomes a *bugError. What f started in
// goroutines of its own is not covered.
func contain(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &bugError{value: v, place: panicPlace()}
		}
	}()
	return f()
}

// panicPlace is the file and line that panicked, seen from a deferred function:
// the first frame below the runtime's own.
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
