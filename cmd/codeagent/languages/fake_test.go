package languages

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"codeagent/internal/machine"
	"codeagent/linuxsandbox"
)

// TestMain lets the test binary be the sandbox's helper and a language server.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == linuxsandbox.HelperName {
		syscall.Exit(linuxsandbox.HelperMain(os.Args))
	}
	if len(os.Args) > 2 && os.Args[1] == "serve" {
		serve(os.Args[2], strings.Join(os.Args[3:], " "))
		os.Exit(0)
	}
	os.Exit(machine.Run(m))
}

// fake is a language server for files of BAD lines, of which each is an error.
type fake struct {
	what, argument string
	out            *bufio.Writer
	heard          []string // answers to its own requests
	uri            string   // and version: of the text at which it made them
	version        int
}

type object = map[string]any

func (f *fake) send(v object) {
	v["jsonrpc"] = "2.0"
	data, _ := json.Marshal(v)
	f.raw(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(data), data))
}

func (f *fake) raw(text string) {
	_, _ = f.out.WriteString(text)
	_ = f.out.Flush()
}

func (f *fake) publish(uri string, version any, list ...object) {
	if list == nil {
		list = []object{}
	}
	f.send(object{"method": "textDocument/publishDiagnostics", "params": object{"uri": uri, "version": version, "diagnostics": list}})
}

func problem(line int, message string) object {
	return object{"range": object{"start": object{"line": line, "character": 0}, "end": object{"line": line, "character": 1}}, "severity": 1, "message": message}
}

// serve is the server. what is how it misbehaves.
func serve(what, argument string) {
	f := &fake{what: what, argument: argument, out: bufio.NewWriter(os.Stdout)}
	switch what {
	case "exits":
		return
	case "sleeps":
		time.Sleep(time.Hour)
	case "closes":
		os.Stdout.Close()
	case "garbage":
		f.raw(strings.Repeat("no frame\rat all\n", 1000))
	case "endless":
		for {
			f.raw(strings.Repeat("x", 64<<10))
		}
	case "gigantic":
		f.raw("Content-Length: 4000000000\r\n\r\n{\"jsonrpc\":\"")
		for {
			f.raw(strings.Repeat("x", 64<<10))
		}
	case "length":
		f.raw(argument + "\r\n\r\n{}")
	case "json":
		f.raw(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(argument), argument))
	case "deep":
		f.raw(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", 1<<20, strings.Repeat("[", 1<<20)))
	}
	in := bufio.NewReader(os.Stdin)
	for {
		var m struct {
			ID     json.RawMessage
			Method string
			Error  any
			Params struct {
				TextDocument struct {
					URI, Text string
					Version   int
				}
				ContentChanges []struct{ Text string }
			}
		}
		if err := (jsonrpc2.VSCodeObjectCodec{}).ReadObject(in, &m); err != nil {
			return
		}
		switch d := m.Params.TextDocument; m.Method {
		case "initialize":
			if what == "silent" {
				continue
			}
			if what == "ids" {
				f.send(object{"id": 77, "result": nil})
				f.send(object{"id": "x", "error": object{"code": 1, "message": "no"}})
			}
			f.send(object{"id": m.ID, "result": object{"capabilities": object{"textDocumentSync": 1}}})
		case "textDocument/didOpen":
			f.check(d.URI, d.Version, d.Text)
		case "textDocument/didChange":
			f.check(d.URI, d.Version, m.Params.ContentChanges[0].Text)
		case "":
			if f.heard = append(f.heard, fmt.Sprintf("refused=%v", m.Error != nil)); len(f.heard) == 5 {
				f.publish(f.uri, f.version, problem(0, strings.Join(f.heard, " ")))
			}
		default:
			if m.ID != nil && what != "deaf" {
				f.send(object{"id": m.ID, "error": object{"code": -32601, "message": "no"}})
			}
		}
		if what == "stuffed" {
			time.Sleep(time.Hour)
		}
	}
}

// check reports on a text.
func (f *fake) check(uri string, version int, text string) {
	if f.what == "deaf" {
		return
	}
	var list []object
	for i, line := range strings.Split(text, "\n") {
		if strings.Contains(line, "BAD") {
			list = append(list, problem(i, line))
		}
	}
	if len(list) > 0 { // the second text: that after the edit
		switch f.what {
		case "runs":
			deed, _ := hex.DecodeString(f.argument) // a server reads what its arguments name
			out, err := exec.Command("/bin/bash", "-c", string(deed)).CombinedOutput()
			list = []object{problem(0, fmt.Sprintf("err=%v %s", err, out))}
		case "says":
			list = []object{{"range": object{"start": object{"line": 0, "character": 0}}, "severity": 1, "message": f.argument, "code": f.argument, "source": f.argument}}
		case "many":
			for i := range 10_000 {
				list = append(list, problem(i, fmt.Sprintf("BAD %d", i)))
			}
		case "place":
			list = []object{{"range": object{"start": object{"line": -5, "character": 1e30}}, "severity": 1, "message": "x"}}
		case "asks":
			for _, method := range []string{"workspace/applyEdit", "workspace/executeCommand", "window/showDocument", "workspace/textDocumentContent", "terminal/run"} {
				f.send(object{"id": method, "method": method, "params": object{"command": "touch x", "edit": object{"changes": object{uri: []object{{"newText": "evil"}}}}}})
			}
			f.uri, f.version = uri, version
			return // until they are answered
		case "elsewhere":
			for _, other := range strings.Fields(f.argument) {
				f.publish(other, nil, problem(0, "elsewhere"))
			}
		case "floods":
			for {
				f.publish(uri, version, problem(0, "BAD"))
			}
		case "logs":
			for {
				f.send(object{"method": "window/logMessage", "params": object{"message": strings.Repeat("x", 4000)}})
			}
		case "forks":
			cmd := exec.Command("/bin/bash", "-c", "setsid bash -c 'while :; do echo x >>"+f.argument+"; sleep 0.01; done' & sleep 1000")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			_ = cmd.Start()
		case "dies":
			os.Exit(3)
		}
	}
	f.publish(uri, version, list...)
}

// bare runs a server that is given text, outside the sandbox, and returns what it reports.
func bare(t *testing.T, args []string, text string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	data, _ := json.Marshal(object{"method": "textDocument/didOpen", "params": object{"textDocument": object{"uri": "file:///x", "version": 1, "text": text}}})
	fmt.Fprintf(in, "Content-Length: %d\r\n\r\n%s", len(data), data)
	in.Close()
	said, _ := io.ReadAll(out)
	_ = cmd.Wait()
	return string(said)
}
