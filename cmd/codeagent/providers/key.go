package providers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"codeagent/hostfile"
)

const (
	// keyTime bounds the run of the program that prints the key: a person may have to touch a
	// security key.
	keyTime = time.Minute
	// keySize bounds its output, in bytes.
	keySize = 16 << 10
)

// keyCommand runs a program that prints the key. It runs with codeagent's own rights and
// environment, because only the user's own settings can name it. None of it may be where
// commands can write: neither the program, nor what its environment or its arguments lead
// to.
func (ps Providers) keyCommand(argv []string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, keyTime)
		defer cancel()
		cmd, err := ps.ground().Command(ctx, ps.environ, argv[0], argv[1:]...)
		if err != nil {
			return "", fmt.Errorf("key_command: %w", err)
		}
		out, err := hostfile.Output(cmd, argv[0], keySize)
		switch {
		case ctx.Err() != nil:
			return "", fmt.Errorf("key_command: %s did not end within %s", argv[0], keyTime)
		case errors.Is(err, hostfile.ErrTooMuch):
			return "", errors.New("key_command: it prints more than a key")
		case err != nil:
			return "", fmt.Errorf("key_command: %w", err)
		}
		return string(out), nil
	}
}
