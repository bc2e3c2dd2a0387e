//go:build linux

package sockets

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// bound returns a socket that is bound to path, and a reference to its file.
func bound(t *testing.T, path string) (sock, file int) {
	t.Helper()
	sock, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(sock) })
	if err := unix.Bind(sock, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	if file, err = unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0); err != nil {
		t.Fatal(err)
	}
	return sock, file
}

// TestRecords: a socket is found by its file for as long as the file has a name, and by the
// address that its command bound it to.
func TestRecords(t *testing.T) {
	dir := t.TempDir()
	var r Records
	defer r.Close()
	path := filepath.Join(dir, "s")
	sock, file := bound(t, path)
	var st unix.Stat_t
	if err := unix.Fstat(file, &st); err != nil {
		t.Fatal(err)
	}
	if r.has(&st) {
		t.Error("a file is known before it was remembered")
	}
	r.remember(file, sock, "s", path)
	if !r.has(&st) {
		t.Error("the file is not known")
	}
	cookie, err := unix.GetsockoptUint64(sock, unix.SOL_SOCKET, unix.SO_COOKIE)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		cookie uint64
		inner  string
		want   string
	}{{cookie, path, "s"}, {0, path, "s"}, {cookie, path + "x", ""}} {
		if got, _ := r.calledBy(row.cookie, row.inner); got != row.want {
			t.Errorf("%+v: %q", row, got)
		}
	}
	// Two sockets with one address: a connection could belong to either.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	second, secondFile := bound(t, path)
	r.remember(secondFile, second, "./s", path)
	if got, ok := r.calledBy(0, path); ok {
		t.Errorf("the address of one of two sockets: %q", got)
	}
	if got, ok := r.calledBy(cookie, path); !ok || got != "s" {
		t.Errorf("%q %v", got, ok)
	}
	if r.Full() || r.has(&st) {
		t.Errorf("a file without a name: full %v, known %v, want neither", r.Full(), r.has(&st))
	}
	r.Close()
	third, thirdFile := bound(t, filepath.Join(dir, "t"))
	r.remember(thirdFile, third, "t", "t")
	if !r.Full() || len(r.list) != 0 {
		t.Errorf("after Close: full %v, %d records, want full without records", r.Full(), len(r.list))
	}
}

// TestParseDiag: an answer of the kernel that is cut off anywhere is parsed without reading
// beyond its end.
func TestParseDiag(t *testing.T) {
	m := make([]byte, unix.SizeofNlMsghdr+16)
	m[unix.SizeofNlMsghdr+1] = unix.SOCK_STREAM
	attribute := func(kind uint16, value []byte) {
		m = binary.NativeEndian.AppendUint16(m, uint16(unix.SizeofRtAttr+len(value)))
		m = append(binary.NativeEndian.AppendUint16(m, kind), value...)
		m = append(m, make([]byte, -len(m)&3)...)
	}
	attribute(unixDiagName, []byte("/a\x00"))
	attribute(unixDiagVFS, binary.NativeEndian.AppendUint32(binary.NativeEndian.AppendUint32(nil, 7), 1))
	attribute(unixDiagPeer, binary.NativeEndian.AppendUint32(nil, 9))
	want := diagAnswer{kind: unix.SOCK_STREAM, bound: true, name: "/a", file: 7, peer: 9}
	if got, err := parseDiag(m); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for n := range m {
		if got, _ := parseDiag(m[:n:n]); got == want {
			t.Errorf("%d bytes of %d are enough", n, len(m))
		}
	}
}
