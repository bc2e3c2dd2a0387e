package agent

import (
	"fmt"

	"codeagent/model"
)

// unseenWords tell the person that images did not reach the model.
func unseenWords(name string, u model.Unseen) string {
	if name == "" {
		name = "the model"
	}
	if u.Blind {
		return fmt.Sprintf("%s cannot see images, and was told of them in words instead; choose a model with vision to have them looked at (the provider says: %v)", name, u.Err)
	}
	return fmt.Sprintf("the provider does not take the images, and %s was told of them in words instead (it says: %v)", name, u.Err)
}
