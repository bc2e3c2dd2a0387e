package diagnostics

import (
	"context"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// TestIdle: a server that is not used ends, which is no failure, and the next change starts it again. One that
// is silent ends too, three times, and is not started again.
func TestIdle(t *testing.T) {
	for _, silent := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var started, ended, failed int
			c := New(Options{Root: "/w", Failed: func(error, bool) { failed++ }, Start: func(context.Context) (Process, error) {
				started++
				in, w := io.Pipe()
				r, out := io.Pipe()
				go func() { _, _ = io.Copy(io.Discard, in) }()
				if !silent {
					for id, after := range []time.Duration{time.Second, 2 * time.Second} {
						answer := fmt.Sprintf("Content-Length: 36\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{}}", id)
						time.AfterFunc(after, func() { _, _ = io.WriteString(out, answer) })
					}
				}
				return Process{Out: r, In: w, Close: func() { ended++; in.Close(); out.Close() }, Printed: func() string { return "" }}, nil
			}})
			defer c.Close()
			text := ""
			for i := 1; i < 6; i++ {
				<-c.Check([]File{{Path: "/w/a", New: true, After: &text}})
				time.Sleep(idleTime + time.Second)
				synctest.Wait()
				want := i
				if silent {
					want = min(i, mostFailures)
				}
				if started != want || ended != want || failed > 0 != (silent && i >= mostFailures) || failed > 1 {
					t.Errorf("silent %v, %d: started %d, ended %d, failed %d", silent, i, started, ended, failed)
				}
			}
		})
	}
}
