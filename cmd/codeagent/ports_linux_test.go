package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"codeagent/internal/golden"
	"codeagent/internal/scripted"
)

// servesPort is a call that serves the folder on a port in the background.
func servesPort(port int) scripted.Call {
	return scripted.Call{Name: "shell", Arguments: fmt.Sprintf(`{"command":"python3 -u -m http.server %d","background":true,"wait_for":"Serving"}`, port)}
}

// fetched returns the status of a page, or why no page came.
func fetched(url string) string {
	c := http.Client{Timeout: 5 * time.Second}
	r, err := c.Get(url)
	if err != nil {
		return err.Error()
	}
	defer r.Body.Close()
	_, _ = io.Copy(io.Discard, r.Body)
	return r.Status
}

var localURL = regexp.MustCompile(`http://127\.[0-9.]+:[0-9]+`)

// TestPortOnTheScreen: the port of a job is open in the browser after a yes. The footer names its address, the
// model learns it, and /permissions closes it. A no leaves the next one closed.
func TestPortOnTheScreen(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		told := make(chan string, 9)
		srv := answering(t, func(r scripted.Request) scripted.Reply {
			last := r.Messages[len(r.Messages)-1].Text
			switch {
			case strings.Contains(last, "[port]"):
				told <- last
				return scripted.Reply{Text: "It is up."}
			case strings.Contains(last, "another"):
				return scripted.Reply{Calls: []scripted.Call{servesPort(5174)}}
			}
			return scripted.Reply{Calls: []scripted.Call{servesPort(5173)}}
		})
		cmd := u.codeagent("--model", "test", "start it")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		term := golden.Start(t, cmd, 100, 30)
		defer term.Kill()
		term.WaitFor("serves port 5173")
		url := localURL.FindString(term.Screen())
		if got := fetched(url); !strings.Contains(got, "refused") {
			t.Errorf("before the yes: %s", got)
		}
		time.Sleep(time.Second) // the question takes no key at once
		term.Write("1")
		term.WaitFor("It is up.")
		if got := fetched(url); got != "200 OK" {
			t.Errorf("after the yes: %s", got)
		}
		if words := <-told; !strings.Contains(words, "http://127.0.0.1:5173") || !strings.Contains(words, url) {
			t.Errorf("the model learns %q, the person %s", words, url)
		}
		lines := strings.Split(strings.TrimRight(term.Screen(), "\n "), "\n")
		if footer := lines[len(lines)-1]; !strings.Contains(footer, url) {
			t.Errorf("the footer: %q", footer)
		}
		term.Write("another\r")
		term.WaitFor("serves port 5174")
		term.Write("\x19")
		term.WaitFor("Tab adds a note")
		term.Write("n")
		term.WaitFor("because")
		term.Write("\r")
		if words := <-told; !strings.Contains(words, "does not") {
			t.Errorf("the model learns %q", words)
		}
		if got := fetched(strings.Replace(url, "5173", "5174", 1)); !strings.Contains(got, "refused") {
			t.Errorf("after a no: %s", got)
		}
		term.Write("/permissions\r")
		term.WaitFor("reach port 5173 of jobs")
		term.Write("\x18")
		term.WaitFor("nothing beyond the policy")
		if got := fetched(url); !strings.Contains(got, "refused") {
			t.Errorf("after it was revoked: %s", got)
		}
	})
}

// TestPortUnattended: without a person a port is open only by the setting, and closed with the run.
func TestPortUnattended(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		for _, setting := range []string{`["5173"]`, `["8080"]`} {
			var url, got, words string
			srv := answering(t, func(r scripted.Request) scripted.Reply {
				if len(r.Messages) < 3 {
					return scripted.Reply{Calls: []scripted.Call{servesPort(5173)}}
				}
				words = r.Messages[len(r.Messages)-1].Text
				if all := localURL.FindAllString(words, -1); len(all) > 1 {
					url = all[1]
					got = fetched(url)
				}
				return scripted.Reply{Text: "done"}
			})
			cmd := u.codeagent("exec", "--model", "test", "-c", "sandbox.publish="+setting, "start it")
			cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if open := setting == `["5173"]`; open && got != "200 OK" || open == strings.Contains(words, "does not") || !strings.Contains(words, "[port]") {
				t.Errorf("%s: %s at %q; %s", setting, got, url, words)
			}
			if url != "" {
				if got := fetched(url); !strings.Contains(got, "refused") {
					t.Errorf("after the run: %s", got)
				}
			}
		}
	})
}

// TestSendBackOnTheScreen: Ctrl+B makes the command that runs a job; the model goes on, /ps lists it and
// undo knows what it changes later.
func TestSendBackOnTheScreen(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		srv := answering(t, func(r scripted.Request) scripted.Reply {
			if last := r.Messages[len(r.Messages)-1].Text; strings.Contains(last, "the user sent it to the background: it runs on as job 1") && strings.Contains(last, "early") {
				return scripted.Reply{Text: "I go on."}
			}
			return scripted.Reply{Calls: []scripted.Call{shellCall("echo early; while [ ! -e go ]; do sleep 0.1; done; echo new > kept; echo late")}}
		})
		if err := os.WriteFile(u.work+"/kept", []byte("old\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		if u.uid >= 0 {
			if err := os.Chown(u.work+"/kept", u.uid, u.uid); err != nil {
				t.Fatal(err)
			}
		}
		cmd := u.codeagent("--model", "test")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		term := golden.Start(t, cmd, 100, 30)
		defer term.Kill()
		term.WaitFor("Ask codeagent")
		term.Write("\x02")
		term.WaitFor("no command runs")
		term.Write("work\r")
		term.WaitFor("\n  early")
		term.Write("\x02")
		term.WaitFor("I go on.")
		term.WaitFor("1 running")
		term.Write("/ps\r")
		term.WaitFor("running")
		term.WaitFor("echo early")
		if err := os.WriteFile(u.work+"/go", nil, 0o666); err != nil {
			t.Fatal(err)
		}
		term.WaitFor("exit 0")
		term.Write("\x1b")
		term.WaitGone("Jobs in the background")
		term.WaitFor("job 1 ended: exit 0")
		if data, _ := os.ReadFile(u.work + "/kept"); string(data) != "new\n" {
			t.Errorf("the job wrote %q", data)
		}
		term.Write("/undo\r")
		term.WaitFor("restore")
		term.Write("\r")
		for range 100 {
			if data, _ := os.ReadFile(u.work + "/kept"); string(data) == "old\n" {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		if data, _ := os.ReadFile(u.work + "/kept"); string(data) != "old\n" {
			t.Errorf("after undo: %q", data)
		}
	})
}
