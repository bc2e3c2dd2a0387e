package screen

import (
	"context"

	"codeagent/cmd/codeagent/conversation"
	"codeagent/tools"
)

// mostFiles bounds the files to choose from with @.
const mostFiles = 100_000

// listFiles lists the workspace inside the sandbox, by the rules of the model's own listing.
func listFiles(ctx context.Context, ses *conversation.Session) ([]string, bool, error) {
	policy := ses.Gate.Base().OnlyRead()
	files, err := ses.Workspace.Runner.Files(ctx, policy, nil)
	if err != nil {
		return nil, false, err
	}
	defer files.Close()
	return tools.Files(ctx, files, policy, ses.Workspace.Folder, mostFiles)
}
