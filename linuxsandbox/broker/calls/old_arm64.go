//go:build linux

package calls

// arm64 came without the calls that have better ones.
var (
	oldMetadataCalls []Metadata
	oldFileCalls     []File
)
