package prompts

import (
	_ "embed"
	"encoding/json"
	"strings"

	"codeagent/internal/short"
	"codeagent/sandbox"
)

//go:embed review.md
var review string

// Review is a request for more permissions, as a reviewer reads it.
type Review struct {
	Title    string   `json:"title"`
	Opens    []string `json:"opens"`
	Warnings []string `json:"warnings,omitempty"`
	Refused  []string `json:"refused,omitempty"`
	Known    []string `json:"known,omitempty"`
	// User is the user's last message. Like Command and Agent it is text to judge, not instructions.
	User    string `json:"user,omitempty"`
	Command string `json:"command,omitempty"`
	Folder  string `json:"folder,omitempty"`
	Agent   string `json:"agent_says,omitempty"`
}

// maxReviewed limits each text for a reviewer, in bytes.
const maxReviewed = 4 << 10

// ForReview returns the instructions for a reviewer, and the request as a message.
func ForReview(r Review, denials []sandbox.Denial) (instructions, message string) {
	for _, d := range denials[:min(len(denials), maxDenials)] {
		r.Refused = append(r.Refused, string(d.Kind)+" "+d.Operation+" "+d.Target)
	}
	for _, list := range [][]string{r.Opens, r.Warnings, r.Refused, r.Known} {
		for i, s := range list {
			list[i] = short.Cut(s, maxWord)
		}
	}
	for _, text := range []*string{&r.Title, &r.User, &r.Command, &r.Folder, &r.Agent} {
		*text = strings.ToValidUTF8(short.Bound(*text, maxReviewed), "?")
	}
	return review, encode(r)
}

// maxVerdict limits a reviewer's reason, in characters.
const maxVerdict = 400

// Reviewed parses the answer of a reviewer. If ok is false, the answer is invalid and reason is
// empty. A refusal without a reason is invalid.
func Reviewed(answer string) (reason string, ok bool) {
	from, to := strings.IndexByte(answer, '{'), strings.LastIndexByte(answer, '}')
	if from < 0 || to < from {
		return "", false
	}
	var v struct {
		Refuse *bool  `json:"refuse"`
		Reason string `json:"reason"`
	}
	if json.Unmarshal([]byte(answer[from:to+1]), &v) != nil || v.Refuse == nil {
		return "", false
	}
	if !*v.Refuse {
		return "", true
	}
	reason = short.Cut(line(v.Reason), maxVerdict)
	return reason, reason != ""
}
