package acp

import (
	"context"
	"time"
)

const (
	// bufferMost is the longest text that is taken from the editor, in bytes.
	bufferMost = 4 << 20
	// bufferTime is how long the editor has to answer.
	bufferTime = 3 * time.Second
)

// Buffer asks the editor for a file's text. Only an editor that offers this is asked. One that did
// not answer in time once is not asked again in this session: every read would wait for it.
func (ses *session) Buffer(ctx context.Context, path string) (string, bool) {
	ses.mu.Lock()
	id, offered, name := ses.id, ses.view.client.fileReads && !ses.mute, ses.view.path(path)
	ses.mu.Unlock()
	if !offered || id == "" {
		return "", false
	}
	short, cancel := context.WithTimeout(ctx, bufferTime)
	defer cancel()
	var got struct {
		Content *string `json:"content"`
	}
	err := ses.server.call(short, "fs/read_text_file", struct {
		SessionID string `json:"sessionId"`
		Path      string `json:"path"`
	}{id, name}, &got)
	if short.Err() != nil && ctx.Err() == nil {
		ses.mu.Lock()
		ses.mute = true
		ses.mu.Unlock()
	}
	if err != nil || got.Content == nil || len(*got.Content) > bufferMost {
		return "", false
	}
	return *got.Content, true
}
