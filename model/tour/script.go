package tour

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"codeagent/hostfile"
	"codeagent/internal/scripted"
)

// The steps of the script, by the ids of their calls. The state is read only from the
// conversation, so that a request that is sent again gets the same answer.
const (
	stepLook  = "look"
	stepEdit  = "edit"
	stepWrite = "write"
	stepAsk   = "ask"
	stepReach = "reach"
)

// closing begins the last message of the tour.
const closing = "That was the tour."

const afterwards = "I am the tour's scripted model, so I cannot help with that. " + howToSet

const howToSet = "For a real model set `OPENAI_API_KEY`, or `OPENAI_BASE_URL` for any OpenAI-compatible server (also one on this machine), and start codeagent again."

// outcome is the outcome of a step, according to its result.
type outcome int

const (
	notYet   outcome = iota // no result so far
	passed                  // the command succeeded
	refused                 // the sandbox denied it
	declined                // the person, or the approval policy, refused it
	failed                  // it failed for another reason
)

var (
	lookDone  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`ls ended with 0`) })
	writeDone = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`written: +\d+ bytes`) })
	never     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^\s\S]`) })
)

// judge parses a result. done matches what the command prints at its end, which the command's
// own text does not contain.
func judge(result string, have bool, done *regexp.Regexp) outcome {
	text := strings.ToLower(result)
	has := func(phrases ...string) bool {
		return slices.ContainsFunc(phrases, func(p string) bool { return strings.Contains(text, p) })
	}
	switch {
	case !have:
		return notYet
	case done.MatchString(result):
		return passed
	case has("the user said no", "nobody could be asked", "nobody is asked", "declined", "rejected"):
		return declined
	case has("[sandbox]", "permission denied", "operation not permitted", "read-only file system", "access denied"):
		return refused
	}
	return failed
}

// scene is one parsed request.
type scene struct {
	*Tour
	stage
	number   int // the number of this run of the tour, from 1; 0: the tour was not requested
	results  map[string]string
	finished bool // the tour has ended
}

func (t *Tour) read(r scripted.Request) scene {
	s := scene{Tour: t, results: map[string]string{}}
	start := 0
	for i, m := range r.Messages {
		if m.Role == "user" && strings.Contains(m.Text, Prompt) {
			s.number++
			start = i
		}
	}
	if s.number == 0 {
		return s
	}
	s.stage = t.stage(s.number)
	for _, m := range r.Messages[start+1:] {
		switch m.Role {
		case "tool":
			if step, ok := strings.CutPrefix(m.CallID, s.id("")); ok {
				s.results[step] = m.Text
			}
		case "assistant":
			s.finished = s.finished || len(m.Calls) == 0 && strings.Contains(m.Text, closing)
		}
	}
	return s
}

func (s *scene) id(step string) string { return fmt.Sprintf("tour%d_%s", s.number, step) }

func (s *scene) outcome(step string, done *regexp.Regexp) outcome {
	text, have := s.results[step]
	return judge(text, have, done)
}

// answer is the handler of the tour's server. The next step is the first one without a
// result.
func (t *Tour) answer(r scripted.Request) scripted.Reply {
	s := t.read(r)
	reply := scripted.Reply{Text: afterwards}
	if s.number > 0 && !s.finished {
		reply = s.next()
	}
	if t.options.Attended {
		reply.TokensPerSecond = tokensPerSecond
	}
	return reply
}

func (s *scene) next() scripted.Reply {
	look := s.outcome(stepLook, lookDone())
	if look == notYet {
		return s.look()
	}
	if _, ok := s.results[stepEdit]; !ok {
		return s.edit(look)
	}
	write, ask := s.outcome(stepWrite, writeDone()), s.outcome(stepAsk, writeDone())
	switch {
	case write == notYet:
		return s.write()
	case write == refused && ask == notYet:
		return s.ask()
	}
	if _, ok := s.results[stepReach]; !ok {
		return s.knock(write, ask)
	}
	return s.end(write, ask)
}

func (s *scene) call(step, tool, text string, arguments any) scripted.Reply {
	var raw strings.Builder
	enc := json.NewEncoder(&raw)
	enc.SetEscapeHTML(false)                      // a screen may show the arguments while they arrive
	if err := enc.Encode(arguments); err != nil { // only strings and maps of strings are encoded here
		raw.Reset()
	}
	return scripted.Reply{Text: text, Calls: []scripted.Call{{ID: s.id(step), Name: tool, Arguments: strings.TrimSpace(raw.String())}}}
}

func (s *scene) look() scripted.Reply {
	return s.call(stepLook, "shell",
		"Hello! My words are a script, but each command that I run is real: it runs in your folder, in the sandbox.\n\nFirst I look around, which is allowed.",
		map[string]any{"command": `ls -a; echo "ls ended with $?"`})
}

func (s *scene) edit(look outcome) scripted.Reply {
	text := "That worked without a question: in the sandbox a command may read.\n\n"
	if look != passed {
		text = "That did not run, so I continue without it.\n\n"
	}
	name := filepath.Base(s.file)
	var patch strings.Builder
	patch.WriteString("*** Begin Patch\n*** Add File: " + name + "\n")
	for line := range strings.Lines(fileText) {
		patch.WriteString("+" + line)
	}
	patch.WriteString("*** End Patch\n")
	return s.call(stepEdit, "apply_patch",
		text+"Now an edit: I add one new file, `"+name+"`. I would not touch an existing file.",
		map[string]any{"patch": patch.String()})
}

// writeCommand returns the command that is denied first and granted later.
func (s *scene) writeCommand() string {
	out := quoted(s.outside)
	return `echo "` + outsideText + `" > ` + out + ` && echo "written: $(wc -c < ` + out + `) bytes"`
}

// edited returns in words how the edit ended.
func (s *scene) edited() string {
	if !exists(s.file) {
		return "The file was not created, so I continue without it.\n\n"
	}
	return "The file is there: this folder may be written.\n\n"
}

func (s *scene) write() scripted.Reply {
	s.Tour.waits.Store(false) // until the denial was shown
	return s.call(stepWrite, "shell",
		s.edited()+"Next I try what I may not do: write to `"+s.outside+"`, outside this folder.",
		map[string]any{"command": s.writeCommand()})
}

func (s *scene) ask() scripted.Reply {
	s.Tour.waits.Store(true)
	text := "The sandbox refused it"
	if !exists(s.outside) {
		text += ", and the file does not exist"
	}
	text += ". I know which path it was, so I ask for that one path and nothing else, and say why."
	if s.options.Attended {
		text += " The answer is yours: allow it, or say no; both are fine."
	} else {
		text += " Nobody is here to answer, so this will stay refused."
	}
	return s.call(stepAsk, "shell", text, map[string]any{
		"command":                s.writeCommand(),
		"sandbox_permissions":    "with_additional_permissions",
		"additional_permissions": map[string]any{"write": []string{s.outside}},
		"justification":          "The tour shows how one refused path is granted: this writes one line to one new file, and nothing else.",
	})
}

func (s *scene) knock(write, ask outcome) scripted.Reply {
	s.Tour.waits.Store(true)
	text := written(write, ask) + "\n\nLast, the network. This tour opened a listener at " + s.door.Addr + ", so nothing leaves your machine. Now a command tries to reach it."
	switch {
	case !s.options.Attended:
	case s.options.NotHeld == "":
		text += "\n\nThe write failed before I could ask. While you are here it need not fail: this time the command pauses at the refused call and waits for your answer. With a yes that one address opens and the same command continues; with a no the call fails."
	default:
		text += "\n\nWhere it can be done, a refused call waits while you are asked. Not here: " + s.options.NotHeld + ". So it fails at once."
	}
	host, port, _ := strings.Cut(s.door.Addr, ":")
	return s.call(stepReach, "shell", text, map[string]any{"command": fmt.Sprintf(`bash -c 'exec 3<>/dev/tcp/%s/%s && head -n 1 <&3'`, host, port)})
}

// written returns in words how the write outside the workspace ended.
func written(write, ask outcome) string {
	switch {
	case write == notYet && ask == passed:
		return "It succeeded: for this command that one path was open, and nothing else."
	case write == notYet && ask == declined:
		return "The answer was no, so the command did not run and the file stays unwritten. I continue without it."
	case write == notYet:
		return "It did not succeed, so I continue without it."
	case write == passed:
		return "That was not refused: the policy in force allows it, or nothing is enforced here. `codeagent doctor` tells which."
	case write == declined:
		return "The answer was no before it even ran, so I leave it."
	case write != refused:
		return "That failed, but not because the sandbox refused it, so there is nothing to ask for."
	case ask == passed:
		return "The very same command succeeded this time: that one path was opened, and nothing else."
	case ask == declined:
		return "The answer was no, so the file stays unwritten and I continue without it."
	}
	return "It did not succeed this time either, so I continue without it."
}

// reached returns in words how the network call ended.
func (s *scene) reached() (string, string) {
	result := s.results[stepReach]
	through := strings.Contains(result, strings.TrimSpace(greeting))
	opened, closed := strings.Contains(result, "the user opened for it"), strings.Contains(result, "did not open")
	switch {
	case opened && through:
		return "The connection was refused, and the command waited. You said yes: the same command continued, read the greeting and ended with 0. Only that address was opened.", "granted while the command waited"
	case opened:
		return "You opened the address, but the connection did not come about.", "granted, and failed all the same"
	case closed:
		return "The connection was refused, and the command waited. Without a yes the connection failed.", "refused, without a yes"
	case through:
		return "The connection went through: the policy in force allows the network, or nothing is enforced here.", "went through"
	}
	switch judge(result, true, never()) {
	case declined:
		return "The network call was not run: the answer was no.", "not run, the answer was no"
	case refused:
		return "The connection was refused.", "refused by the sandbox"
	}
	return "The connection did not come about.", "failed"
}

func (s *scene) end(write, ask outcome) scripted.Reply {
	var b strings.Builder
	reach, short := s.reached()
	b.WriteString(reach + "\n\n" + closing + " What happened:\n\n")
	fmt.Fprintf(&b, "- reading this folder: %s\n", words(s.outcome(stepLook, lookDone())))
	edit := "not done"
	if exists(s.file) {
		edit = "done, as a diff"
	}
	fmt.Fprintf(&b, "- a new file in this folder: %s\n", edit)
	fmt.Fprintf(&b, "- a write outside of it: %s\n", words(write))
	if ask != notYet {
		fmt.Fprintf(&b, "- the same after asking for that path: %s\n", words(ask))
	}
	fmt.Fprintf(&b, "- a network connection: %s\n\n", short)
	b.WriteString(howToSet)
	if made := s.Made(); len(made) > 0 {
		b.WriteString("\n\nWhat the tour made can be removed: `" + strings.Join(made, "`, `") + "`.")
	}
	return scripted.Reply{Text: b.String()}
}

func words(o outcome) string {
	switch o {
	case passed:
		return "allowed"
	case refused:
		return "refused by the sandbox"
	case declined:
		return "not allowed by the approval"
	}
	return "failed"
}

func exists(path string) bool {
	_, err := hostfile.OS{}.Lstat(path)
	return err == nil
}

// quoted quotes s as one word of a shell.
func quoted(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
