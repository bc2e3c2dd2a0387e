package screen

import (
	"errors"
	"fmt"
	"testing"

	"codeagent/agent"
)

// TestLimitNamesTheNextStep: a turn that reached its limit of requests names the next step; other errors stay.
func TestLimitNamesTheNextStep(t *testing.T) {
	limit := fmt.Errorf("%w (200)", agent.ErrOutOfRequests)
	if got := explained(limit); got.Error() != "reached the limit of requests to the model (200): any message lets the model continue" || !errors.Is(got, agent.ErrOutOfRequests) {
		t.Errorf("%v", got)
	}
	other := errors.New("connection refused")
	if explained(other) != other || explained(nil) != nil {
		t.Error("another error was changed")
	}
}
