//go:build linux

package linuxsandbox

// arm64 came without the calls that have better ones.
var (
	oldMetadataCalls []metadataCall
	oldFileCalls     []fileCall
)
