package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

var (
	// anyones are the ids of calls that every provider takes: OpenAI refuses more
	// than 40 bytes, Anthropic other characters.
	anyones = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)
	// kimis are those of Kimi, whose models call worse where they read others in
	// what they called before: functions.shell:0.
	kimis = regexp.MustCompile(`^functions\.[a-zA-Z0-9_-]{1,64}:[0-9]{1,6}$`)
)

// CallID is an id of a call as a provider of that model takes it: one that others
// may refuse, and with it the whole conversation, becomes another, which is the
// same each time.
func CallID(id, model string) string {
	if anyones.MatchString(id) || kimis.MatchString(id) && strings.Contains(strings.ToLower(model), "kimi") {
		return id
	}
	return madeID(id)
}

func madeID(id string) string {
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:12])
}
