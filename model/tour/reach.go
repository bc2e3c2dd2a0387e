package tour

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"

	"codeagent/hostfile"
)

// knocker is a program that can open a connection, with its command line.
type knocker struct{ program, command string }

// knockers are tried in order; %[1]s is the host and %[2]s the port. bash comes first because
// its error message is the clearest.
var knockers = []knocker{
	{"bash", `bash -c 'exec 3<>/dev/tcp/%[1]s/%[2]s && head -n 1 <&3'`},
	{"python3", `python3 -c 'import socket; print(socket.create_connection(("%[1]s", %[2]s), 3).recv(99).decode())'`},
	{"perl", `perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new("%[1]s:%[2]s") or die "connect: $!\n"; print <$s>'`},
	{"nc", `nc -w 3 %[1]s %[2]s </dev/null`},
	{"curl", `curl -sS -m 3 telnet://%[1]s:%[2]s </dev/null`},
}

// knock returns a command that connects to addr and prints the greeting, with a program
// found in path, or nothing.
func knock(addr, path string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return ""
	}
	for _, k := range knockers {
		if found(k.program, path) {
			return fmt.Sprintf(k.command, host, port)
		}
	}
	return ""
}

func found(program, path string) bool {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if info, err := hostfile.Seen(filepath.Join(dir, program)); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return true
		}
	}
	return false
}

// quoted quotes s as one word of a shell.
func quoted(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
