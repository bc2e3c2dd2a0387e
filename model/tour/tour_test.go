package tour_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/model"
	"codeagent/model/chat"
	"codeagent/model/tour"

	"github.com/google/go-cmp/cmp"
)

const (
	sandboxed = "exit status 1\nbash: Permission denied\n[sandbox] The sandbox refused this; without it the command would have passed:\n- write /x\n"
	userNo    = "This did not run: the user said no: not now"
	nobody    = "This did not run: nobody could be asked, so it was refused"
)

// hands replaces the agent and its sandbox. A reply given for a step is its result; a step
// without one runs unconfined.
type hands struct {
	t         *testing.T
	workspace string
	replies   map[string]string
	sees      func(callID string) // may be nil
}

func (h hands) do(c model.ToolCall) string {
	if h.sees != nil {
		h.sees(c.ID)
	}
	if reply, ok := h.replies[c.ID]; ok {
		return reply
	}
	var args struct{ Command, Patch string }
	if err := json.Unmarshal([]byte(c.Arguments), &args); err != nil {
		h.t.Fatalf("arguments of %s: %v", c.ID, err)
	}
	if c.Name == "apply_patch" {
		return h.add(args.Patch)
	}
	cmd := exec.CommandContext(h.t.Context(), "bash", "-c", args.Command)
	cmd.Dir = h.workspace
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out) + "\n" + err.Error()
	}
	return string(out)
}

// add performs a patch that adds one file.
func (h hands) add(patch string) string {
	var name, text string
	for line := range strings.Lines(patch) {
		if n, ok := strings.CutPrefix(line, "*** Add File: "); ok {
			name = strings.TrimSpace(n)
		}
		if l, ok := strings.CutPrefix(line, "+"); ok {
			text += l
		}
	}
	f, err := os.OpenFile(filepath.Join(h.workspace, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "failed: " + err.Error()
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		return "failed: " + err.Error()
	}
	return "A " + name
}

// turn plays one turn: it asks until no call is left, and returns the ids of
// the calls in order and the last text.
func turn(t *testing.T, url string, h hands, items *[]model.Item, text string) (ids []string, last string, calls map[string]model.ToolCall) {
	t.Helper()
	c := chat.New(chat.Options{BaseURL: url})
	defer c.Close()
	calls = map[string]model.ToolCall{}
	*items = append(*items, model.Item{Kind: model.User, Text: text})
	for range 20 {
		var said strings.Builder
		var made []model.ToolCall
		for d, err := range c.Stream(t.Context(), model.Request{Model: tour.Model, Items: *items}) {
			if err != nil {
				t.Fatal(err)
			}
			switch d := d.(type) {
			case model.TextDelta:
				said.WriteString(d.Text)
			case model.CallDone:
				made = append(made, d.Call)
			}
		}
		last = said.String()
		*items = append(*items, model.Item{Kind: model.Assistant, Text: last})
		if len(made) == 0 {
			return ids, last, calls
		}
		for _, call := range made {
			ids = append(ids, call.ID)
			calls[call.ID] = call
			*items = append(*items, model.Item{Kind: model.Call, Call: &call}, model.Item{Kind: model.Result, CallID: call.ID, Text: h.do(call)})
		}
	}
	t.Fatal("the tour does not come to an end")
	return nil, "", nil
}

type place struct{ workspace, outside string }

func begin(t *testing.T, o tour.Options) (*tour.Tour, place) {
	t.Helper()
	p := place{t.TempDir(), filepath.Join(t.TempDir(), "it's out side.txt")}
	if o.Workspace == "" {
		o.Workspace = p.workspace
	}
	if o.Outside == "" {
		o.Outside = p.outside
	}
	tr, err := tour.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tr.Close)
	return tr, p
}

func wantWords(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in:\n%s", w, text)
		}
	}
}

func needBash(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is missing")
	}
}

func TestGranted(t *testing.T) {
	t.Parallel()
	needBash(t)
	tr, p := begin(t, tour.Options{Attended: false})
	var items []model.Item
	ids, last, calls := turn(t, tr.BaseURL, hands{t: t, workspace: p.workspace, replies: map[string]string{"tour1_write": sandboxed, "tour1_reach": sandboxed}}, &items, tr.Prompt)
	if d := cmp.Diff([]string{"tour1_look", "tour1_edit", "tour1_write", "tour1_ask", "tour1_reach"}, ids); d != "" {
		t.Error(d)
	}
	var first, again struct {
		Command       string
		Permissions   string `json:"sandbox_permissions"`
		Additional    map[string][]string
		Justification string
	}
	if err := json.Unmarshal([]byte(calls["tour1_write"].Arguments), &first); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(calls["tour1_ask"].Arguments, "additional_permissions\":{", "additional\":{")), &again); err != nil {
		t.Fatal(err)
	}
	if first.Command != again.Command || again.Permissions != "with_additional_permissions" || again.Justification == "" {
		t.Errorf("asked with %+v after %+v", again, first)
	}
	if d := cmp.Diff(map[string][]string{"write": {p.outside}}, again.Additional); d != "" {
		t.Error(d)
	}
	wantWords(t, last, "That was the tour.", "outside of it: refused by the sandbox", "asking for that path: allowed", "network connection: refused", "OPENAI_API_KEY", "OPENAI_BASE_URL", p.outside)
	if d := cmp.Diff([]string{filepath.Join(p.workspace, "codeagent-tour.txt"), p.outside}, tr.Made()); d != "" {
		t.Error(d)
	}
}

func TestNobodyGrants(t *testing.T) {
	t.Parallel()
	needBash(t)
	for name, reply := range map[string]string{"user": userNo, "nobody": nobody} {
		tr, p := begin(t, tour.Options{})
		var items []model.Item
		ids, last, _ := turn(t, tr.BaseURL, hands{t: t, workspace: p.workspace, replies: map[string]string{"tour1_write": sandboxed, "tour1_ask": reply, "tour1_reach": sandboxed}}, &items, tr.Prompt)
		if len(ids) != 5 {
			t.Errorf("%s: calls %q", name, ids)
		}
		wantWords(t, last, "asking for that path: not allowed by the approval")
		if d := cmp.Diff([]string{filepath.Join(p.workspace, "codeagent-tour.txt")}, tr.Made()); d != "" {
			t.Error(d)
		}
	}
}

// TestHeld: if calls can be held, only the connection is, and the tour reports what it sees.
func TestHeld(t *testing.T) {
	t.Parallel()
	needBash(t)
	const (
		opened = "exit status 0 after 3.1 s\noutput:\nhello from outside the sandbox\n[approval] While the command ran, the user opened for it: 127.0.0.1:1.\n"
		closed = "exit status 1 after 3.1 s\noutput:\nbash: connect: Connection refused\n[approval] While the command ran, the user was asked and did not open: 127.0.0.1:1 (the user said no).\n"
		killed = "interrupted by the user and killed with all it had started, after 1 s\noutput:\n(none)\n[approval] While the command ran, the user was asked and did not open: 127.0.0.1:1 (no answer: interrupted by the user).\n"
		failed = "exit status 1\n[approval] While the command ran, the user opened for it: 127.0.0.1:1.\n"
	)
	for name, c := range map[string]struct {
		replies map[string]string
		words   []string
		made    int
	}{
		"yes twice": {map[string]string{"tour1_reach": opened}, []string{"asking for that path: allowed", "network connection: granted while the command waited"}, 2},
		"no twice":  {map[string]string{"tour1_ask": userNo, "tour1_reach": closed}, []string{"asking for that path: not allowed by the approval", "network connection: refused, without a yes"}, 1},
		"stopped":   {map[string]string{"tour1_ask": userNo, "tour1_reach": killed}, []string{"network connection: refused, without a yes"}, 1},
		"in vain":   {map[string]string{"tour1_ask": userNo, "tour1_reach": failed}, []string{"network connection: granted, and failed all the same"}, 1},
		"not held":  {map[string]string{"tour1_ask": sandboxed, "tour1_reach": sandboxed}, []string{"asking for that path: refused by the sandbox", "network connection: refused by the sandbox"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			tr, p := begin(t, tour.Options{})
			var items []model.Item
			c.replies["tour1_write"] = sandboxed
			var waits []string
			h := hands{t: t, workspace: p.workspace, replies: c.replies}
			h.sees = func(id string) {
				if tr.Waits() {
					waits = append(waits, id)
				}
			}
			ids, last, calls := turn(t, tr.BaseURL, h, &items, tr.Prompt)
			if d := cmp.Diff([]string{"tour1_look", "tour1_edit", "tour1_ask", "tour1_reach"}, waits); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff([]string{"tour1_look", "tour1_edit", "tour1_write", "tour1_ask", "tour1_reach"}, ids); d != "" {
				t.Error(d)
			}
			wantWords(t, calls["tour1_ask"].Arguments, "with_additional_permissions", p.outside)
			wantWords(t, last, c.words...)
			if made := tr.Made(); len(made) != c.made {
				t.Errorf("made %q", made)
			}
		})
	}
}

// If calls cannot be held, the tour says why and follows the basic script.
func TestNotHeldSaysWhy(t *testing.T) {
	t.Parallel()
	needBash(t)
	tr, p := begin(t, tour.Options{Attended: true, NotHeld: "codeagent's broker cannot listen here"})
	items := []model.Item{{Kind: model.User, Text: tr.Prompt}}
	for _, step := range []string{"look", "edit", "write"} {
		id := "tour1_" + step
		items = append(items, model.Item{Kind: model.Call, Call: &model.ToolCall{ID: id, Name: "shell", Arguments: "{}"}},
			model.Item{Kind: model.Result, CallID: id, Text: userNo})
	}
	_, _, _ = turn(t, tr.BaseURL, hands{t: t, workspace: p.workspace, replies: map[string]string{"tour1_reach": sandboxed}}, &items, "go on")
	for _, item := range items {
		if item.Kind == model.Assistant {
			wantWords(t, item.Text, "Not here: codeagent's broker cannot listen here.")
			return
		}
	}
}

// If nothing is enforced, the tour says so and claims no denial.
func TestNothingIsEnforced(t *testing.T) {
	t.Parallel()
	needBash(t)
	tr, p := begin(t, tour.Options{})
	var items []model.Item
	ids, last, _ := turn(t, tr.BaseURL, hands{t: t, workspace: p.workspace}, &items, tr.Prompt)
	if d := cmp.Diff([]string{"tour1_look", "tour1_edit", "tour1_write", "tour1_reach"}, ids); d != "" {
		t.Error(d)
	}
	wantWords(t, last, "a write outside of it: allowed", "network connection: went through")
	if strings.Contains(last, "refused") || strings.Contains(last, "Refused") {
		t.Errorf("a refusal is claimed:\n%s", last)
	}
}

func TestEverythingIsDeclined(t *testing.T) {
	t.Parallel()
	tr, p := begin(t, tour.Options{})
	var items []model.Item
	ids, last, _ := turn(t, tr.BaseURL, hands{t: t, workspace: p.workspace, replies: map[string]string{
		"tour1_look": userNo, "tour1_edit": userNo, "tour1_write": userNo, "tour1_reach": userNo}}, &items, tr.Prompt)
	if d := cmp.Diff([]string{"tour1_look", "tour1_edit", "tour1_write", "tour1_reach"}, ids); d != "" {
		t.Error(d)
	}
	wantWords(t, last, "reading this folder: not allowed", "new file in this folder: not done", "outside of it: not allowed", "network connection: not run")
	if made := tr.Made(); len(made) != 0 {
		t.Errorf("made %q", made)
	}
}

func TestExistingFilesAreLeftAlone(t *testing.T) {
	t.Parallel()
	needBash(t)
	w, o := t.TempDir(), filepath.Join(t.TempDir(), "out.txt")
	mine := filepath.Join(w, "codeagent-tour.txt")
	for _, f := range []string{mine, o} {
		if err := os.WriteFile(f, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tr, _ := begin(t, tour.Options{Workspace: w, Outside: o})
	var items []model.Item
	h := hands{t: t, workspace: w, replies: map[string]string{"tour1_write": sandboxed, "tour2_write": sandboxed}}
	turn(t, tr.BaseURL, h, &items, tr.Prompt)
	// A second run in the same conversation uses new names.
	_, last, _ := turn(t, tr.BaseURL, h, &items, tr.Prompt)
	wantWords(t, last, "asking for that path: allowed")
	dir := filepath.Dir(o)
	want := []string{filepath.Join(w, "codeagent-tour-2.txt"), filepath.Join(dir, "out-2.txt"), filepath.Join(w, "codeagent-tour-3.txt"), filepath.Join(dir, "out-3.txt")}
	if d := cmp.Diff(want, tr.Made()); d != "" {
		t.Error(d)
	}
	for _, f := range []string{mine, o} {
		if data, _ := os.ReadFile(f); string(data) != "mine" {
			t.Errorf("%s was changed to %q", f, data)
		}
	}
	// A file that the user has changed since is not the tour's to remove.
	if err := os.WriteFile(want[0], []byte("now mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want[1:], tr.Made()); d != "" {
		t.Error(d)
	}
}

func TestOtherMessages(t *testing.T) {
	t.Parallel()
	needBash(t)
	tr, p := begin(t, tour.Options{})
	h := hands{t: t, workspace: p.workspace, replies: map[string]string{"tour1_write": sandboxed, "tour1_ask": userNo, "tour1_reach": sandboxed}}
	var items []model.Item
	if ids, last, _ := turn(t, tr.BaseURL, h, &items, "write me a compiler"); len(ids) != 0 || !strings.Contains(last, "OPENAI_API_KEY") {
		t.Errorf("before the tour: calls %q, text %q", ids, last)
	}
	turn(t, tr.BaseURL, h, &items, tr.Prompt)
	if ids, last, _ := turn(t, tr.BaseURL, h, &items, "and now?"); len(ids) != 0 || !strings.Contains(last, "scripted model") {
		t.Errorf("after the tour: calls %q, text %q", ids, last)
	}
}

// An interrupted turn continues at the same step.
func TestSteeredInTheMiddle(t *testing.T) {
	t.Parallel()
	tr, p := begin(t, tour.Options{})
	h := hands{t: t, workspace: p.workspace, replies: map[string]string{"tour1_edit": userNo, "tour1_write": userNo, "tour1_reach": sandboxed}}
	items := []model.Item{{Kind: model.User, Text: tr.Prompt},
		{Kind: model.Call, Call: &model.ToolCall{ID: "tour1_look", Name: "shell", Arguments: "{}"}},
		{Kind: model.Result, CallID: "tour1_look", Text: "interrupted"}}
	ids, last, _ := turn(t, tr.BaseURL, h, &items, "what are you doing?")
	if d := cmp.Diff([]string{"tour1_edit", "tour1_write", "tour1_reach"}, ids); d != "" {
		t.Error(d)
	}
	wantWords(t, last, "reading this folder: failed", "network connection: refused by the sandbox")
}

func TestStartRefusesRelativePaths(t *testing.T) {
	t.Parallel()
	if tr, err := tour.Start(context.Background(), tour.Options{Workspace: "x", Outside: "/y"}); err == nil {
		tr.Close()
		t.Error("a relative workspace was accepted")
	}
}
