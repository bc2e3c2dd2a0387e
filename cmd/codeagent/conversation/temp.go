package conversation

import (
	"slices"

	"codeagent/cmd/codeagent/workspace"
)

// Temp is what commands of the session see as /tmp.
func Temp(ses *Session) workspace.Temp {
	private := slices.Contains(ses.Workspace.Enforcement.Active(), "mountns")
	return workspace.Temp{Policy: ses.Gate.Open, Private: private, Folder: ses.Workspace.Folder}
}
