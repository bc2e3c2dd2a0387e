package hostfile

import (
	"cmp"
	"context"
	"fmt"
	"io"
)

// Read reads the regular file path, which may have at most most bytes. If the file system does
// not answer, Read returns when ctx ends.
func Read(ctx context.Context, path string, most int64) ([]byte, error) {
	return read(ctx, path, most, false)
}

// ReadStart reads at most most bytes from the beginning of the regular file path.
func ReadStart(ctx context.Context, path string, most int64) ([]byte, error) {
	return read(ctx, path, most, true)
}

func read(ctx context.Context, path string, most int64, cut bool) ([]byte, error) {
	return Within(ctx, func() ([]byte, error) {
		f, err := Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if info, err := f.Stat(); err != nil || info.Size() > most && !cut {
			return nil, cmp.Or(err, failed("read", path, &TooLargeError{info.Size(), most}))
		}
		data, err := io.ReadAll(io.LimitReader(f, most+1))
		if n := int64(len(data)); n > most {
			if data = data[:most]; !cut { // it is growing, or its size is not known (as in /proc)
				return nil, failed("read", path, &TooLargeError{n, most})
			}
		}
		return data, err
	})
}

// TooLargeError says that a file is larger than a reader takes.
type TooLargeError struct{ Size, Most int64 }

func (e *TooLargeError) Error() string {
	if e.Most%(1<<20) == 0 {
		return fmt.Sprintf("larger than %d MiB", e.Most>>20)
	}
	return fmt.Sprintf("larger than %d bytes", e.Most)
}

// Within returns the result of do, or the cause of ctx's end if that comes first: a read that
// waits for a terminal, a pipe or a file system cannot be ended otherwise. What do opened is
// closed when do returns, at the latest at the end of the process.
func Within[T any](ctx context.Context, do func() (T, error)) (T, error) {
	if ctx.Done() == nil {
		return do()
	}
	type answer struct {
		value T
		err   error
	}
	ready := make(chan answer, 1)
	go func() {
		value, err := do()
		ready <- answer{value, err}
	}()
	select {
	case a := <-ready:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}
