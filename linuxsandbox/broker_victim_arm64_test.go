//go:build linux

package linuxsandbox

var oldAttempts []metadataAttempt
