package exec

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"codeagent/internal/fileworker"
	"codeagent/sandbox"
)

// The file worker's words, for rooms that may not import it.
type (
	// FileInfo describes one file.
	FileInfo = fileworker.Info
	// FileEntry is one name in a folder.
	FileEntry = fileworker.Entry
	// FileListing is what one folder holds.
	FileListing = fileworker.Listing
	// FileType is "file", "folder", "symlink" or "other".
	FileType = fileworker.Type
	// Expect says what must be true of a file for it to be changed.
	Expect = fileworker.Expect
	// GrepLimits bound a search.
	GrepLimits = fileworker.GrepLimits
	// GrepResult is what a search found.
	GrepResult = fileworker.GrepResult
	// GrepMatch is one matching line.
	GrepMatch = fileworker.Match
	// FileError is what an operation ended with: Op, Path, Kind, Errno, Text.
	FileError = fileworker.Error
	// FileErrorKind groups errors by what is to be done about them.
	FileErrorKind = fileworker.Kind
)

// What can go wrong with a file; see the worker's own constants.
const (
	FileRefused     = fileworker.Refused
	FileAbsent      = fileworker.Absent
	FileExists      = fileworker.Exists
	FileChanged     = fileworker.Changed
	FileIsFolder    = fileworker.IsFolder
	FileNotFolder   = fileworker.NotFolder
	FileIsSymlink   = fileworker.IsSymlink
	FileSpecial     = fileworker.Special
	FileCrossDevice = fileworker.CrossDevice
	FileInvalid     = fileworker.Invalid
)

// Files reads and changes files from inside the sandbox. It may be used from
// several goroutines. Errors are *FileError, or say that the worker is gone.
type Files struct {
	ctx     context.Context
	client  *fileworker.Client
	process sandbox.Process
	in, out *os.File
}

// Files starts a file worker under p. Close it; the end of ctx kills it. k is as
// in sandbox.Command.
func (r *Runner) Files(ctx context.Context, p sandbox.Policy, k sandbox.ChangeObserver) (*Files, error) {
	backend, err := r.backend(p)
	if err != nil {
		return nil, err
	}
	theirIn, in, err := newPipe(1)
	if err != nil {
		return nil, cannot("file worker", err)
	}
	defer theirIn.Close()
	out, theirOut, err := newPipe(0)
	if err != nil {
		in.Close()
		return nil, cannot("file worker", err)
	}
	defer theirOut.Close()
	cmd := sandbox.Command{
		Path: sandbox.FileWorker, Args: []string{"file-worker"}, Dir: "/", Env: []string{},
		Stdin: theirIn, Stdout: theirOut, Observer: k,
	}
	process, err := backend.Start(ctx, workerPolicy(p), cmd, nil)
	if err != nil {
		in.Close()
		out.Close()
		return nil, err
	}
	return &Files{ctx: ctx, client: fileworker.NewClient(in, out), process: process, in: in, out: out}, nil
}

// workerPolicy is p for the worker: it needs no network, and limits meant for
// commands would end it in the middle of a file.
func workerPolicy(p sandbox.Policy) sandbox.Policy {
	q := p.Clone()
	q.Limits = sandbox.Limits{}
	q.Network = sandbox.Network{}
	q.Sockets = nil
	return q
}

// Close ends the worker and waits for it.
func (f *Files) Close() error {
	err := f.in.Close()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	kill := time.AfterFunc(2*time.Second, f.process.Kill)
	defer kill.Stop()
	_, err = f.process.Wait()
	f.out.Close()
	return err
}

// why explains an error: a worker that is gone says nothing about the reason.
func (f *Files) why(err error) error {
	if err == nil || !errors.Is(err, fileworker.ErrEnded) {
		return err
	}
	if ctx := f.ctx.Err(); ctx != nil {
		return fmt.Errorf("file worker: %w", ctx)
	}
	f.process.Kill()
	status, waited := f.process.Wait()
	switch {
	case waited != nil:
		return waited
	case status.Signal != 0:
		return fmt.Errorf("%w (signal %d)", err, status.Signal)
	}
	return err
}

// Stat describes what path leads to; symbolic links are followed.
func (f *Files) Stat(path string) (FileInfo, error) {
	info, err := f.client.Stat(path)
	return info, f.why(err)
}

// ReadFile returns at most limit bytes (0: 64 MiB) of a regular file from
// offset on. FileInfo.Size tells whether there is more.
func (f *Files) ReadFile(path string, offset, limit int64) ([]byte, FileInfo, error) {
	data, info, err := f.client.ReadFile(path, offset, limit)
	return data, info, f.why(err)
}

// ReadDirs lists folders, one FileListing each; together at most limit entries
// (0: 100,000).
func (f *Files) ReadDirs(paths []string, limit int) ([]FileListing, error) {
	listings, err := f.client.ReadDirs(paths, limit)
	return listings, f.why(err)
}

// WriteFile gives a file the content data if it is what e expects; mode is for a
// new one (0: 0666 less the umask).
func (f *Files) WriteFile(path string, data []byte, mode fs.FileMode, e Expect) (FileInfo, error) {
	info, err := f.client.WriteFile(path, data, mode, e)
	return info, f.why(err)
}

// Remove takes away a file, a link or an empty folder if it is what e expects.
func (f *Files) Remove(path string, e Expect) error { return f.why(f.client.Remove(path, e)) }

// Rename moves from to to. Unless replace is set, to must not exist.
func (f *Files) Rename(from, to string, replace bool) error {
	return f.why(f.client.Rename(from, to, replace))
}

// Mkdir makes a folder; with parents also those above it that are missing.
func (f *Files) Mkdir(path string, mode fs.FileMode, parents bool) error {
	return f.why(f.client.Mkdir(path, mode, parents))
}

// Put makes path a file with exactly that content and mode, if it is absent or a
// file that e expects, by Absent or Version. What is there is replaced whatever its
// permissions. It is not put on the disk.
func (f *Files) Put(path string, data []byte, mode fs.FileMode, e Expect) (FileInfo, error) {
	info, err := f.client.Put(path, data, mode, e)
	return info, f.why(err)
}

// Chmod sets the permissions of a file or folder, if it has the Version of e.
func (f *Files) Chmod(path string, mode fs.FileMode, e Expect) error {
	return f.why(f.client.Chmod(path, mode, e))
}

// Symlink makes a symbolic link to to where nothing is.
func (f *Files) Symlink(path, to string, e Expect) error {
	return f.why(f.client.Symlink(path, to, e))
}

// FileVersion is the FileInfo.Version of the file with that device, inode, size in
// bytes and modification time in nanoseconds since 1970.
func FileVersion(dev, ino uint64, size, mtime int64) string {
	return fileworker.Version(dev, ino, size, mtime)
}

// Grep searches regular files line by line for an RE2 pattern. The end of ctx ends
// it at once: what is still being matched then is left to end by itself.
func (f *Files) Grep(ctx context.Context, paths []string, pattern string, limits GrepLimits) (GrepResult, error) {
	var result GrepResult
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		result, err = f.client.Grep(ctx, paths, pattern, limits)
	}()
	select {
	case <-done:
		return result, f.why(err)
	case <-ctx.Done():
		return GrepResult{}, context.Cause(ctx)
	}
}
