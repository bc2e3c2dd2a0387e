package providers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"codeagent/hostfile"
)

const (
	// keyTime is how long the program that prints the key may take: a person may
	// have to touch something.
	keyTime = time.Minute
	// keySize bounds what is read of it.
	keySize = 16 << 10
)

// keyCommand asks a program for the key. It runs with codeagent's own rights and
// environment, because it is named in the user's own settings alone. Where commands may
// write, nothing of it may lie: neither the program, nor what its environment or its
// arguments lead to.
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
