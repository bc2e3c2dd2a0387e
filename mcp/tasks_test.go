package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A tool that a server runs only as a task is not offered, over each transport; others are, and so is
// this one when it needs no task any more.
func TestTaskTools(t *testing.T) {
	const tools = `{"name":"free","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}},` +
		`{"name":"odd","inputSchema":{"type":"object"},"execution":["required"]},` +
		`{"name":"bound","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}`
	check := func(t *testing.T, c *Client, err error, l *told) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Tools(); len(got) != 2 || got[0].Name != "free" || got[1].Name != "odd" {
			t.Errorf("offered: %+v", got)
		}
		if !strings.Contains(l.all(), "warning: tool bound is left out: it runs only as a task") {
			t.Errorf("told: %s", l.all())
		}
	}
	t.Run("pipes", func(t *testing.T) {
		var l told
		listed := tools
		c, err := raw(t, Options{Log: l.log}, func(w io.Writer, method string, id json.RawMessage) { answer(w, method, id, listed) })
		check(t, c, err, &l)
		if err := c.readTools(t.Context()); err != nil || strings.Count(l.all(), "tool bound is left out") != 1 {
			t.Errorf("%v, told again: %s", err, l.all())
		}
		listed = strings.ReplaceAll(tools, `"required"`, `"forbidden"`)
		if err := c.readTools(t.Context()); err != nil || len(c.Tools()) != 3 {
			t.Errorf("%v, %+v", err, c.Tools())
		}
	})
	for name, form := range map[string]string{"application/json": "%s", "text/event-stream": "event: message\ndata: %s\n\n"} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				m := readMessage(t, r)
				if m.Method != "tools/list" {
					older(w, r, m, "s")
					return
				}
				w.Header().Set("Content-Type", name)
				fmt.Fprintf(w, form, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`, m.ID, tools))
			}))
			t.Cleanup(s.Close)
			var l told
			c, err := OverHTTP(t.Context(), s.URL, nil, Options{Name: "web", Log: l.log})
			if err == nil {
				t.Cleanup(c.Close)
			}
			check(t, c, err, &l)
		})
	}
}
