//go:build linux

package linuxsandbox

// oldMetadataCalls: arm64 came without the calls that have better ones.
var oldMetadataCalls []metadataCall
