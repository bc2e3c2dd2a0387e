package languages

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"codeagent/config"
	"codeagent/diagnostics"
	"codeagent/event"
	"codeagent/sandbox"
)

// TestDelay: by the clock of the bubble no edit takes longer than a second, whatever the server does. Some do
// what would hold an edit that waited for their answer, which the same run shows.
func TestDelay(t *testing.T) {
	ws := newSession(t, "well").o
	frame := func(text string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(text), text) }
	report := func(diagnostics string) string {
		return frame(`{"jsonrpc":"2.0","method":"textDocument/publishDiagnostics","params":{"uri":"file://` + ws.Workspace.Folder + `/c.bad","diagnostics":[` + diagnostics + `]}}`)
	}
	const one = `{"range":{},"severity":1,"message":"x"}`
	never := func(in io.Reader, _ io.Writer) { _, _ = io.Copy(io.Discard, in) }
	endless := func(text string) func(io.Reader, io.Writer) {
		return func(in io.Reader, out io.Writer) {
			go never(in, nil)
			for err := error(nil); err == nil; {
				_, err = io.WriteString(out, text)
			}
		}
	}
	// answering answers each message with an ID after wait, and then says more.
	answering := func(wait time.Duration, more string) func(io.Reader, io.Writer) {
		return func(in io.Reader, out io.Writer) {
			for r, id := bufio.NewReader(in), -1; ; {
				var length int
				line, err := r.ReadString('\n')
				if err != nil {
					return
				}
				if _, err := fmt.Sscanf(line, "Content-Length: %d", &length); err != nil {
					continue
				}
				body := make([]byte, length+2)
				_, _ = io.ReadFull(r, body)
				if !strings.Contains(string(body), `"id":`) {
					continue
				}
				id++
				time.Sleep(wait)
				if _, err := io.WriteString(out, frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":null}`, id))+more); err != nil {
					return
				}
			}
		}
	}
	for _, c := range []struct {
		name  string
		serve func(in io.Reader, out io.Writer)
		begin time.Duration // how long its start takes
		end   time.Duration // how long it takes to end it
		holds bool
	}{
		{name: "well", serve: answering(0, report(""))},
		{name: "never answers", serve: never, holds: true},
		{name: "does not read", serve: func(io.Reader, io.Writer) { time.Sleep(time.Hour) }, holds: true},
		{name: "answers without a report", serve: answering(0, ""), holds: true},
		{name: "answers slowly", serve: answering(40*time.Second, report("")), holds: true},
		{name: "a header without an end", serve: endless("x")},
		{name: "a byte each second", holds: true, serve: func(in io.Reader, out io.Writer) {
			go never(in, nil)
			for err := error(nil); err == nil; time.Sleep(time.Second) {
				_, err = io.WriteString(out, "x")
			}
		}},
		{name: "a flood of reports", serve: endless(report(one))},
		{name: "a flood of requests", serve: endless(frame(`{"jsonrpc":"2.0","id":1,"method":"workspace/applyEdit","params":{}}`))},
		{name: "10,000 errors", serve: answering(0, report(strings.Repeat(one+",", 9_999)+one))},
		{name: "10,000 errors in 2 MiB and more", serve: answering(0, report(strings.Repeat(one+strings.Repeat(" ", 300)+",", 9_999)+one))},
		{name: "dies", serve: func(io.Reader, io.Writer) {}},
		{name: "dies, and what it started lives on", serve: func(io.Reader, io.Writer) {}, end: 10 * time.Second, holds: true},
		{name: "does not start", begin: time.Hour, holds: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := diagnostics.New(diagnostics.Options{
					Root: ws.Workspace.Folder, Languages: map[string]string{".bad": "bad"}, Failed: func(error, bool) {},
					Start: func(ctx context.Context) (p diagnostics.Process, err error) {
						select {
						case <-ctx.Done():
							return p, ctx.Err()
						case <-time.After(c.begin):
						}
						in, toServer := io.Pipe()
						fromServer, out := io.Pipe()
						go func() { c.serve(in, out); in.Close(); out.Close() }()
						return diagnostics.Process{Out: fromServer, In: toServer, Printed: func() string { return "" }, Close: func() {
							time.Sleep(c.end)
							in.Close()
							out.Close()
						}}, nil
					},
				})
				l := &Languages{o: ws, list: []*language{{client, config.LanguageServer{Name: "fake", Command: "/x", Languages: map[string]string{".bad": "bad"}}}}}
				defer func() { l.Close(); time.Sleep(2 * time.Hour) }() // the longest sleep of a server
				text := func(i int) *string { s := strings.Repeat("x\n", i); return &s }
				for i := range 6 {
					begun := time.Now()
					l.After(t.Context(), []event.FileChange{{Path: "c.bad", Kind: sandbox.Updated, Before: text(i), After: text(i + 1)}}, sandbox.Changes{})
					if took := time.Since(begun); took > time.Second {
						t.Errorf("edit %d took %v", i, took)
					}
				}
				begun, name := time.Now(), ws.Workspace.Folder+"/c.bad"
				<-client.Check([]diagnostics.File{{Path: name, Before: text(9), After: text(10)}})
				if took := time.Since(begun); c.holds != (took > time.Second) {
					t.Errorf("the answer itself took %v", took)
				}
			})
		})
	}
}
