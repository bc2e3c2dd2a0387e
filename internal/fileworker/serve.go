package fileworker

import (
	"bufio"
	"io"
	"path/filepath"
	"strings"
)

// Serve reads requests from in and writes answers to out, one after the other, until in ends.
// It returns nil at end of file between two requests, ErrFrame for an invalid request, and
// any other error of the two streams.
func Serve(in io.Reader, out io.Writer) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		body, err := readFrame(r)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var q request
		if !decode(body, &q) {
			return ErrFrame
		}
		if err := writeFrame(out, bounded(perform(&q))); err != nil {
			return err
		}
	}
}

// bounded encodes a, or an error if a is too large to send.
func bounded(a *answer) []byte {
	body := encode(a)
	if len(body) <= maxFrame {
		return body
	}
	tooLarge := answer{err: fail(Invalid, "the answer is too large: ask for less at a time")}
	tooLarge.err.Op = "answer"
	return encode(&tooLarge)
}

func perform(q *request) *answer {
	a := &answer{}
	var err error
	switch q.op {
	case opStat:
		a.info, err = stat(q.path)
	case opRead:
		a.data, a.info, err = readFile(q.path, q.offset, q.limit)
	case opList:
		a.listings = readDirs(q.paths, int(q.limit))
	case opWrite:
		a.info, err = writeFile(q.path, q.data, q.mode, q.expect)
	case opRemove:
		err = remove(q.path, q.expect)
	case opMkdir:
		err = mkdir(q.path, q.mode, q.flag)
	case opReadMany:
		a.contents = readMany(q.paths, q.limit)
	case opPut:
		a.info, err = putFile(q.path, q.data, q.mode, q.expect)
	case opChmod:
		a.info, err = chmod(q.path, q.mode, q.expect)
	case opSymlink:
		err = symlink(q.path, q.to, q.expect.Parents)
	default:
		err = fail(Invalid, "unknown operation")
	}
	if err != nil {
		a.err = about(q.path, err)
		a.err.Op = q.op
	}
	return a
}

// checkPath accepts only clean absolute paths: the caller has made the path canonical, and its
// meaning is not decided here.
func checkPath(path string) error {
	switch {
	case !filepath.IsAbs(path) || filepath.Clean(path) != path:
		return fail(Invalid, "want a clean absolute path")
	case strings.ContainsRune(path, 0):
		return fail(Invalid, "the path contains a NUL byte")
	}
	return nil
}
