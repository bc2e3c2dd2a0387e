package chat_test

import (
	"testing"
	"time"

	"codeagent/model/chat"
	"codeagent/model/modeltest"
)

func TestConformance(t *testing.T) {
	modeltest.Run(t, modeltest.Chat, func(t *testing.T, baseURL string, idle time.Duration) modeltest.Model {
		retry := impatient(nil)
		retry.Attempts = modeltest.Attempts
		return client(t, chat.Options{BaseURL: baseURL, Key: "sk-conformance", Retry: retry, IdleTimeout: idle})
	})
}
