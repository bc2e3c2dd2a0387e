package named

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"codeagent/sandbox"
)

// A lookup has a host but no port, and a grant needs both: the port is read from the
// command's text. A wrong guess grants too little, and the connection itself then asks again
// with its real port.

// usualPort is the port of most connections.
const usualPort = 443

// schemePorts are the ports of the URL schemes in command lines (IANA).
var schemePorts = map[string]uint16{
	"http": 80, "ws": 80, "https": 443, "wss": 443, "ftp": 21, "ssh": 22, "git+ssh": 22, "sftp": 22, "rsync": 873, "git": 9418,
	"redis": 6379, "postgres": 5432, "postgresql": 5432, "mysql": 3306, "mongodb": 27017, "amqp": 5672, "ldap": 389, "smtp": 25,
}

// remoteShells are programs whose hosts mean port 22.
var remoteShells = []string{"ssh", "scp", "sftp", "rsync"}

// WithPort adds a port to a host that command looked up; a host with a port is unchanged.
func WithPort(command, host string) string {
	h, err := sandbox.ParseHostPort(host)
	if err != nil || h.Port != 0 {
		return host
	}
	h.Port = portFor(command, h.Host)
	return h.String()
}

// portFor returns the port on which command probably reaches host.
func portFor(command, host string) uint16 {
	if port, ok := Port(command, host); ok {
		return port
	}
	return usualPort
}

// Port returns the port that command's text gives for host, if any.
func Port(command, host string) (uint16, bool) {
	text := strings.ToLower(command)
	for at := 0; ; {
		i := strings.Index(text[at:], host)
		if i < 0 {
			break
		}
		start := at + i
		at = start + len(host)
		before, after := text[:start], text[at:]
		if nameLetter(before, -1) || nameLetter(after, 1) {
			continue // part of another name
		}
		if port, ok := portBeside(before[max(len(before)-beside, 0):], after[:min(len(after), beside)]); ok {
			return port, true
		}
	}
	words := strings.Fields(text)
	for len(words) > 1 && strings.Contains(words[0], "=") {
		words = words[1:]
	}
	if len(words) > 0 && slices.Contains(remoteShells, path.Base(words[0])) {
		return 22, true
	}
	return 0, false
}

// beside is how many bytes around a name are examined: enough for the user in a URL.
const beside = 256

// nameLetter reports whether the text beside a name continues it.
func nameLetter(text string, side int) bool {
	if text == "" {
		return false
	}
	c := text[0]
	if side < 0 {
		c = text[len(text)-1]
	}
	letter := func(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' }
	// A dot after a name may end a sentence; one before it belongs to a longer name.
	return letter(c) || c == '.' && (side < 0 || len(text) > 1 && letter(text[1]))
}

// portBeside reads the port from the text around a host's name: "name:8080",
// "http://name", "user@name:path" (scp's form) or "name 8080" (nc's).
func portBeside(before, after string) (uint16, bool) {
	scheme := ""
	if i := strings.LastIndex(before, "://"); i >= 0 && !strings.ContainsAny(before[i+3:], "/ \t\n'\"") {
		scheme = before[strings.LastIndexFunc(before[:i], func(r rune) bool { return !(r >= 'a' && r <= 'z' || r == '+') })+1 : i]
	}
	if rest, ok := strings.CutPrefix(after, ":"); ok {
		if port, ok := number(rest); ok {
			return port, true
		}
		if scheme == "" && strings.HasSuffix(before, "@") {
			return 22, true
		}
	}
	if port, ok := schemePorts[scheme]; ok {
		return port, true
	}
	if rest := strings.TrimLeft(after, " \t"); scheme == "" && rest != after {
		return number(rest)
	}
	return 0, false
}

// number parses a port at the beginning of s, as a whole word.
func number(s string) (uint16, bool) {
	end := 0
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	if end < len(s) && !strings.ContainsRune(" \t\n/'\"`?#;&|)<>,", rune(s[end])) {
		return 0, false
	}
	n, err := strconv.ParseUint(s[:end], 10, 16)
	return uint16(n), err == nil && n > 0
}
