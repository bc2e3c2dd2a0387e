package hooks

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"codeagent/internal/short"
	"codeagent/internal/visible"
)

// Answer is what the hooks for one event answer. The zero Answer changes nothing. Its texts contain
// no character that is obeyed and not seen.
type Answer struct {
	// Denied, and Reason for the model and the user, with the hook's name.
	Denied bool
	Reason string
	// Asks are why hooks want a question.
	Asks []string
	// Words are for the model, each bounded.
	Words []string
	// Warnings are for the user.
	Warnings []string
}

func (a *Answer) join(b Answer) {
	a.Denied, a.Reason = b.Denied, b.Reason
	a.Asks = append(a.Asks, b.Asks...)
	a.Words, a.Warnings = append(a.Words, b.Words...), append(a.Warnings, b.Warnings...)
}

// output is what a hook may print: the fields of codeagent and those of Claude Code.
type output struct {
	Decision   string `json:"decision"`
	Reason     string `json:"reason"`
	Additional string `json:"additionalContext"`
	Message    string `json:"systemMessage"`
	Continue   *bool  `json:"continue"`
	StopReason string `json:"stopReason"`
	Specific   struct {
		Decision   string          `json:"permissionDecision"`
		Reason     string          `json:"permissionDecisionReason"`
		Additional string          `json:"additionalContext"`
		Input      json.RawMessage `json:"updatedInput"`
		Request    *struct {
			Behavior string `json:"behavior"`
			Message  string `json:"message"`
		} `json:"decision"`
	} `json:"hookSpecificOutput"`
}

// answerOf reads how a hook ended:
//
//	it did not run, ran too long, was killed, printed too much  -> a failure
//	status 2            -> deny, with stderr as the reason
//	JSON on stdout      -> deny, ask, words; allow changes nothing
//	other text, 0       -> words, where no call is judged
//	any other status    -> a warning, and the JSON counts all the same
//
// A failure denies where the hook could have denied, see Event.
func answerOf(h Hook, e Exit) Answer {
	switch {
	case e.Err != nil:
		return failure(h, e, "could not be run: "+e.Err.Error())
	case e.TimedOut:
		return failure(h, e, fmt.Sprintf("gave no answer within %s", short.Duration(h.Timeout)))
	case e.Flooded:
		return failure(h, e, "printed more than "+short.Size(MaxOutput))
	case e.Signal != "":
		return failure(h, e, "was ended by "+e.Signal)
	case e.Exit == 126 || e.Exit == 127: // the shell's words for a program that it cannot execute or find
		return failure(h, e, fmt.Sprintf("could not be run (status %d)%s", e.Exit, firstLine(e.Stderr)))
	}
	var out output
	text := bytes.TrimSpace(e.Stdout)
	isJSON := bytes.HasPrefix(text, []byte("{"))
	if isJSON {
		if err := json.Unmarshal(text, &out); err != nil {
			if e.Exit == 2 {
				return denied(h, string(e.Stderr))
			}
			return failure(h, e, "answered with JSON that is not valid: "+err.Error())
		}
	}
	a := out.answer(h)
	if e.Exit == 2 && !a.Denied {
		a = denied(h, string(e.Stderr))
	}
	switch {
	case e.Exit != 0 && e.Exit != 2:
		a.Warnings = append(a.Warnings, fmt.Sprintf("exit status %d%s", e.Exit, firstLine(e.Stderr))+denials(e))
	case e.Exit == 0 && !isJSON && len(text) > 0 && (h.Event == Prompt || h.Event == SessionStart):
		a.Words = append(a.Words, words(h, string(text)))
	}
	return a
}

// answer converts the JSON of a hook.
func (o output) answer(h Hook) (a Answer) {
	decision, reason := o.Decision, o.Reason
	if o.Specific.Decision != "" {
		decision, reason = o.Specific.Decision, o.Specific.Reason
	}
	if r := o.Specific.Request; r != nil {
		decision, reason = r.Behavior, r.Message
	}
	switch decision {
	case "", "none", "defer", "allow", "approve": // a hook can only deny, ask and add words
	case "deny", "block":
		a = denied(h, reason)
	case "ask":
		a.Asks = []string{h.name() + ": " + cmp.Or(plain(reason), "it gives no reason")}
	default:
		a = denied(h, "it gives the unknown decision "+short.Quote(decision, 40))
	}
	if len(o.Specific.Input) > 0 && !a.Denied && h.Event == BeforeTool {
		// Running the call as it was would not be what the hook wants.
		a = denied(h, "it wants other arguments. Make the call again with these if they fit: "+string(o.Specific.Input))
	}
	if o.Continue != nil && !*o.Continue && !a.Denied && h.Event != TurnEnd {
		a = denied(h, o.StopReason)
	}
	for _, text := range slices.Compact([]string{o.Additional, o.Specific.Additional}) {
		if strings.TrimSpace(text) != "" {
			a.Words = append(a.Words, words(h, text))
		}
	}
	if text := plain(o.Message); text != "" {
		a.Warnings = append(a.Warnings, text)
	}
	return a
}

func denied(h Hook, reason string) Answer {
	if h.Event == SessionStart {
		return Answer{Warnings: []string{"it denies, and nothing can be denied at the start: " + plain(reason)}}
	}
	return Answer{Denied: true, Reason: h.name() + ": " + cmp.Or(plain(reason), "it gives no reason")}
}

// failure is the answer of a hook that gave none.
func failure(h Hook, e Exit, why string) Answer {
	why = plain(why) + denials(e)
	if h.Event == BeforeTool || h.Event == Prompt {
		return Answer{Denied: true, Reason: h.name() + ": it " + why + ". A hook that fails denies"}
	}
	return Answer{Warnings: []string{why}}
}

// denials says what the sandbox denied the hook.
func denials(e Exit) string {
	if len(e.Denied) == 0 {
		return ""
	}
	return "; the sandbox denied it " + visible.Line(short.List(e.Denied, 3))
}

// words quotes what a hook says to the model. Each line is marked, so that it cannot pass for words
// of codeagent or of the user.
func words(h Hook, text string) string {
	text = visible.Text(strings.ToValidUTF8(short.Bound(strings.TrimSpace(text), maxWords), "\uFFFD"))
	return "[" + h.name() + " adds:]\n| " + strings.ReplaceAll(text, "\n", "\n| ")
}

// plain is a reason as one bounded line.
func plain(text string) string {
	return visible.Line(strings.ToValidUTF8(short.Head(strings.TrimSpace(text), maxReason), "\uFFFD"))
}

func firstLine(stderr []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(stderr)), "\n")
	if line = plain(short.Head(line, 300)); line == "" {
		return ""
	}
	return ": " + line
}
