//go:build linux

package calls

// arm64 lacks the calls that have a newer replacement.
var (
	oldMetadataCalls []Metadata
	oldFileCalls     []File
	oldLookups       []File
)
