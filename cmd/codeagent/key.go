package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"codeagent/internal/visible"
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
func (b *box) keyCommand(argv []string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, keyTime)
		defer cancel()
		out, problem := bounded{most: keySize}, bounded{most: keySize}
		cmd, err := b.ground().Command(ctx, b.s.Environ, argv[0], argv[1:]...)
		if err != nil {
			return "", fmt.Errorf("key_command: %w", err)
		}
		cmd.Stdout, cmd.Stderr = &out, &problem
		cmd.WaitDelay = time.Second // a child of it may hold the pipe
		err = cmd.Run()
		switch {
		case ctx.Err() != nil:
			return "", fmt.Errorf("key_command: %s did not end within %s", argv[0], keyTime)
		case err != nil:
			return "", fmt.Errorf("key_command: %w", complaint(argv[0], err, &problem))
		case out.full:
			return "", errors.New("key_command: it prints more than a key")
		}
		return out.kept.String(), nil
	}
}

// complaint is the error of a program with what it says itself, if anything.
func complaint(name string, err error, problem *bounded) error {
	said := visible.Line(strings.TrimSpace(strings.ToValidUTF8(problem.kept.String(), "")))
	if said == "" {
		return fmt.Errorf("%s: %w", name, err)
	}
	return fmt.Errorf("%s: %w: %s", name, err, said)
}

// bounded keeps the first bytes written to it, at most so many, and takes the rest.
// Its buffer is not embedded: io.Copy would use that one's ReadFrom, which keeps all.
type bounded struct {
	kept bytes.Buffer
	most int
	full bool
}

func (b *bounded) Write(p []byte) (int, error) {
	room := b.most - b.kept.Len()
	if len(p) > room {
		b.full = true
		b.kept.Write(p[:room])
		return len(p), nil
	}
	return b.kept.Write(p)
}
