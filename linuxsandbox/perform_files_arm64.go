//go:build linux

package linuxsandbox

// oldFileCalls: arm64 came without the calls that have better ones.
var oldFileCalls []fileCall
