package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

var (
	// anyones matches call ids that every provider accepts: OpenAI refuses more than 40 bytes,
	// Anthropic other characters.
	anyones = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)
	// kimis matches the call ids of Kimi (functions.shell:0). Its models call worse if earlier
	// calls have other ids.
	kimis = regexp.MustCompile(`^functions\.[a-zA-Z0-9_-]{1,64}:[0-9]{1,6}$`)
)

// CallID returns an id for a call that the providers of that model accept. An id that others
// may refuse, and with it the whole conversation, is replaced, always by the same one.
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
