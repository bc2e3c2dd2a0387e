package agent

import (
	"fmt"
	"runtime"
	"strings"
)

// contain runs f and converts a panic to an error with its place. Goroutines that f starts
// are not covered.
func contain(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("bug: %v%s", v, panicPlace())
		}
	}()
	return f()
}

// panicPlace returns the place that panicked, as " (tools/shell.go:12)", called in a deferred
// function: the first frame below the runtime's own; "" if it is not known.
func panicPlace() string {
	callers := make([]uintptr, 32)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	panicked := false
	for {
		f, more := frames.Next()
		inRuntime := strings.HasPrefix(f.Function, "runtime.")
		if panicked && !inRuntime {
			parts := strings.Split(f.File, "/")
			return fmt.Sprintf(" (%s:%d)", strings.Join(parts[max(len(parts)-2, 0):], "/"), f.Line)
		}
		panicked = panicked || f.Function == "runtime.gopanic"
		if !more {
			return ""
		}
	}
}
