//go:build !linux

package program

import "errors"

// Open fails: only Linux has a helper.
func Open(path, want string) (int, error) {
	return -1, errors.New("the sandbox helper is for Linux")
}
