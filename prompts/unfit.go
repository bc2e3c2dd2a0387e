package prompts

import (
	"fmt"

	"codeagent/internal/short"
)

// maxUnfit bounds what a validator says of an answer, in characters: it quotes the answer.
const maxUnfit = 1000

// Unfit tells the model what is wrong with an answer that does not fit the schema.
func Unfit(err error) string {
	return fmt.Sprintf("[Your last message does not fit the JSON Schema: %s. Send it again as one JSON value that fits, with nothing before or after it and no code fence.]", short.Cut(err.Error(), maxUnfit))
}
