package exec

import (
	"path"
	"slices"
	"strings"

	"codeagent/sandbox"
)

// names reports whether one of the words means the target, the folder it is in,
// or something below it: what could not be made is missed there.
func (s step) names(d *sandbox.Denial) bool {
	return len(s.words) > 1 && slices.ContainsFunc(s.words[1:], func(w string) bool {
		return known(w) && means(w, d)
	})
}

// opens reports whether a redirection means the target, or may: one whose word
// tells nothing may mean anything.
func (s step) opens(d *sandbox.Denial) bool {
	return slices.ContainsFunc(s.writes, func(w string) bool { return !known(w) || means(w, d) })
}

// known reports whether anything is known of a word but that it is one.
func known(word string) bool { return strings.Trim(word, "*/.") != "" }

// means reports whether a word of a script, with "*" for what is not known of it,
// can mean d's target.
func means(word string, d *sandbox.Denial) bool {
	if d.Kind == sandbox.KindNetwork {
		return slices.ContainsFunc([]string{d.Target, d.Requested}, func(at string) bool {
			h, err := sandbox.ParseHostPort(at)
			return err == nil && strings.Contains(word, h.Host)
		}) || strings.HasPrefix(word, "/dev/tcp/*")
	}
	if _, value, ok := strings.Cut(word, "="); ok {
		word = value
	}
	if strings.HasPrefix(word, "-") {
		return false
	}
	word = anywhere(word)
	if laidOver(word, d.Target) || laidOver(word, path.Dir(d.Target)) {
		return true
	}
	for dir := path.Dir(word); known(dir); dir = path.Dir(dir) {
		if laidOver(dir, d.Target) {
			return true
		}
	}
	return false
}

// anywhere is the pattern of a word's end: where it begins depends on the folder
// that it is used in.
func anywhere(word string) string {
	for strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../") || strings.HasPrefix(word, "~/") {
		_, word, _ = strings.Cut(word, "/")
	}
	if word = strings.TrimRight(word, "/"); !strings.HasPrefix(word, "/") {
		word = "*/" + strings.TrimPrefix(word, "*/")
	}
	return word
}

// laidOver reports whether pattern, in which "*" stands for any text, is the
// whole of s. The work is bounded by the product of the lengths.
func laidOver(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == s
	}
	if !strings.HasPrefix(s, parts[0]) {
		return false
	}
	s = s[len(parts[0]):]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
	return strings.HasSuffix(s, parts[len(parts)-1])
}

// inability are words of a program that could not do what it was to do. They are
// a tie-break: of a program that was refused something and then failed, whether
// it was for that. The languages are those that strerror(3) is most met in.
var inability = []string{
	"denied", "not permitted", "read-only", "readonly", "eacces", "eperm", "erofs", "permission",
	"cannot", "can't", "could not", "couldn't", "unable to", "failed to", "failure", "not writable", "i/o error",
	"writing", "unreachable", "connect", "resolv", "lookup", "timed out", "network", "socket",
	"verweigert", "berechtigung", "nicht erlaubt", "non accord", "non permise", "refus", "permiso", "permitid", "permess", "negad", "permitida",
	"отказано", "не позволено", "许可", "权限", "拒绝", "許可", "拒否", "권한", "거부", "odmowa", "toegang",
}

// explains reports whether what was said last fits a refusal of one of
// these. Nothing said fits as well: nothing else is known to have gone wrong.
func (j *judge) explains(denials []*sandbox.Denial) bool {
	lines := plainLines(j.outcome.Output.end())
	if len(lines) == 0 {
		return true
	}
	for _, line := range lines[max(0, len(lines)-lastLines):] {
		if strings.Contains(line, "Log files were not written") {
			continue // npm's own, whatever else went wrong
		}
		lower := strings.ToLower(line)
		if slices.ContainsFunc(inability, func(w string) bool { return strings.Contains(lower, w) }) {
			return true
		}
		for _, d := range denials {
			if tells(line, d.Target) || d.Requested != "" && strings.Contains(line, d.Requested) {
				return true
			}
		}
	}
	return false
}

// lastLines is how much of what was said last counts: the end of a message.
const lastLines = 12
