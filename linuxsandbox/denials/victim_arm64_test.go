//go:build linux

package denials

var oldAttempts []metadataAttempt
