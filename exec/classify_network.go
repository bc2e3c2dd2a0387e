package exec

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"codeagent/sandbox"
)

// opSocket is the operation of a network denial whose other end is unknown: the
// socket itself was refused, or it was to listen.
const opSocket = "socket"

// hostShape finds who was to be reached in a line. Group 1 is the host, group 2
// the port where there is one.
type hostShape struct {
	operation string
	port      uint16 // when the line does not say
	re        *regexp.Regexp
}

// refusedWords end the line of a connection that was refused by the system and
// not by the other end.
const refusedWords = `(?i:operation not permitted|permission denied|network is unreachable)`

// failedWords may be the other end's refusal as well. In a network of the
// session's own that is what a connection to a server of the host comes to.
const failedWords = `(?i:operation not permitted|permission denied|network is unreachable|connection refused)`

func hostShapes() []hostShape {
	return []hostShape{
		{"lookup", 22, regexp.MustCompile(`^ssh: Could not resolve hostname ([\w.-]+)`)},
		{"lookup", 0, regexp.MustCompile(`(?i)(?:could not|couldn't) resolve (?:host ?name|host|proxy)(?: name)?:? "?([\w.-]+)`)},
		{"lookup", 0, regexp.MustCompile(`unable to resolve host address '([\w.-]+)'`)},
		{"lookup", 0, regexp.MustCompile(`getaddrinfo E[A-Z_]+ ([\w.-]+)(?::(\d+))?`)},
		{"lookup", 0, regexp.MustCompile(`\bdial \w+: lookup ([\w.-]+)`)},
		{"lookup", 0, regexp.MustCompile(`\blookup ([\w.-]+)(?: on \S+)?: .*` + refusedWords)},
		{"lookup", 0, regexp.MustCompile(`UnknownHostException: ([\w.-]+)`)},
		{"lookup", 0, regexp.MustCompile(`Temporary failure resolving '([\w.-]+)'`)},
		{"lookup", 0, regexp.MustCompile(`unable to look up ([\w.-]+) \(port (\d+)\)`)},
		{"lookup", 0, regexp.MustCompile(`: ([\w-]+(?:\.[\w-]+)+): Temporary failure in name resolution`)},
		{"lookup", 0, regexp.MustCompile(`getaddrinfo for host "([\w.-]+)" port (\d+): `)},
		{"lookup", 5432, regexp.MustCompile(`could not translate host name "([\w.-]+)" to address`)},
		{"connect", 0, regexp.MustCompile(`Failed to connect to ([\w.:-]+) port (\d+)`)},
		{"connect", 0, regexp.MustCompile(`\bconnect (?:EPERM|EACCES|ENETUNREACH|EHOSTUNREACH|ECONNREFUSED) (\S+):(\d+)`)},
		{"connect", 0, regexp.MustCompile(`\bdial (?:tcp|udp)[46]? (\S+):(\d+): \w+: ` + failedWords)},
		{"connect", 0, regexp.MustCompile(`connect to host (\S+) port (\d+): (?:failure|` + failedWords + `)`)},
		{"connect", 0, regexp.MustCompile(`\bconnect to (\S+) port (\d+) \(\w+\) failed: ` + failedWords)},
		{"connect", 0, regexp.MustCompile(`/dev/(?:tcp|udp)/([^/\s]+)/(\d+): ` + failedWords)},
		{"connect", 0, regexp.MustCompile(`Connecting to ([\w.-]+)(?: \([^)]*\))?(?:\|[^|]*\|)?:(\d+)\.\.\. failed: ` + failedWords)},
		{"connect", 0, regexp.MustCompile(`connection to server at "([^"]+)"(?: \([^)]*\))?, port (\d+) failed: (?:could not create socket: )?` + failedWords)},
		{"connect", 0, regexp.MustCompile(`ConnectionPool\(host='([\w.-]+)', port=(\d+)\)`)},
		{"connect", 0, regexp.MustCompile(`TCP connection to "?([\w.-]+)"?:(\d+) \(` + refusedWords)},
		// No host: whom the command meant stands elsewhere, or nowhere.
		{opSocket, 0, regexp.MustCompile(`\blisten (?:EPERM|EACCES)\b`)},
		{opSocket, 0, regexp.MustCompile(`\blisten \w+ \S+: (?:socket|bind): ` + refusedWords)},
		{opSocket, 0, regexp.MustCompile(`\bOSError: \[Errno 101\] ` + refusedWords)},
		{opSocket, 0, regexp.MustCompile(`(?i:\bsocket|SocketException|IO::Socket\S*|\bping): .*` + refusedWords)},
		{opSocket, 0, regexp.MustCompile(`^failed: ` + refusedWords)}, // wget without a word more
		{opSocket, 0, regexp.MustCompile(`(?:gaierror:|urlopen error|dns error:|socket error:|a new connection:).*(?:Temporary failure in name resolution|Name or service not known|` + refusedWords + `)`)},
	}
}

// network judges a line that speaks of a connection; it reports whether it does.
func (j *judge) network(lines []string, i int) bool {
	if j.policy.Network.Mode == sandbox.NetworkFull {
		return false
	}
	line := lines[i]
	for _, shape := range shapes().hosts {
		m := shape.re.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if shape.operation == opSocket {
			j.socket(line)
			return true
		}
		port := shape.port
		if len(m) > 2 && m[2] != "" {
			n, err := strconv.ParseUint(m[2], 10, 16)
			if err != nil {
				return true
			}
			port = uint16(n)
		}
		j.host(m[1], port, shape.operation, lines, i)
		return true
	}
	if shapes().peer.MatchString(line) {
		j.meantForHost(line)
		return true
	}
	// Python's socket module tells neither host nor even that it was a socket,
	// but for the line of its source.
	if strings.HasSuffix(line, "[Errno 1] Operation not permitted") {
		for n := max(0, i-4); n < i; n++ {
			if strings.Contains(lines[n], "socket.py") || strings.Contains(lines[n], "_socket") {
				j.socket(line)
				return true
			}
		}
	}
	return false
}

// host judges one host; the port may stand in an address near by.
func (j *judge) host(host string, port uint16, operation string, lines []string, i int) {
	if port == 0 {
		port = j.portOf(host, lines, i)
	}
	h, err := sandbox.ParseHostPort(sandbox.HostPort{Host: strings.Trim(host, "[]."), Port: port}.String())
	if err != nil || j.policy.JudgeHost(h).Allowed {
		return
	}
	if operation == "connect" && !j.fromSystem(lines[i], h) {
		return
	}
	if operation == "lookup" && j.listed(h.Host) {
		return // the name may be asked for: it is the name that does not exist
	}
	j.add(sandbox.Denial{Kind: sandbox.KindNetwork, Operation: operation, Target: h.String(), Program: programOf(lines[i]), Errno: ""})
}

// fromSystem reports whether it was the system that kept the line's connection
// from h: by its words or, on the loopback, because h is served outside of the
// sandbox and could not be reached within. A server of the command's own that is
// not up has no such sign.
func (j *judge) fromSystem(line string, h sandbox.HostPort) bool {
	peer := shapes().byPeer.MatchString(line)
	if shapes().bySystem.MatchString(line) && !peer {
		return true
	}
	if len(loopbacks(h.Host)) == 0 {
		return !peer
	}
	if served, ok := j.outside(h); ok {
		return served
	}
	return !peer
}

// meantForHost judges a line that says that the other end refused, and not which
// one it was, by the command: it names one address on the loopback, and the host
// has a server there.
func (j *judge) meantForHost(line string) {
	found := map[sandbox.HostPort]bool{}
	for _, m := range shapes().loopback.FindAllStringSubmatch(strings.Join(j.outcome.Argv, " "), 20) {
		if n, err := strconv.ParseUint(m[2], 10, 16); err == nil {
			found[sandbox.HostPort{Host: m[1], Port: uint16(n)}] = true
		}
	}
	if len(found) != 1 {
		return
	}
	for h := range found {
		if served, _ := j.outside(h); served && !j.policy.JudgeHost(h).Allowed {
			j.add(sandbox.Denial{Kind: sandbox.KindNetwork, Operation: "connect", Target: h.String(), Program: programOf(line)})
		}
	}
}

func (j *judge) listed(host string) bool {
	for _, h := range j.policy.Network.Hosts {
		if h.Host == host {
			return true
		}
	}
	return false
}

// portOf looks for an address with this host: in the line, in the command, and
// in the other lines.
func (j *judge) portOf(host string, lines []string, i int) uint16 {
	texts := append([]string{lines[i], strings.Join(j.outcome.Argv, " ")}, lines...)
	for _, text := range texts {
		if !strings.Contains(text, host) {
			continue
		}
		if _, rest, ok := strings.Cut(text, "/dev/tcp/"+host+"/"); ok {
			digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
			if n, err := strconv.ParseUint(digits, 10, 16); err == nil {
				return uint16(n)
			}
		}
		for _, m := range shapes().url.FindAllStringSubmatch(text, 20) {
			if strings.EqualFold(strings.Trim(m[2], "[]"), host) {
				return portOfURL(m[1], m[3])
			}
		}
	}
	// git@host:path
	if strings.Contains(strings.Join(j.outcome.Argv, " "), "@"+host+":") {
		return 22
	}
	return 0
}

func portOfURL(scheme, port string) uint16 {
	if n, err := strconv.ParseUint(port, 10, 16); err == nil {
		return uint16(n)
	}
	switch scheme {
	case "https":
		return 443
	case "ssh":
		return 22
	case "git":
		return 9418
	case "ftp":
		return 21
	}
	return 80
}

// socket judges a refusal that does not say whom: the one address that the
// command names, if there is exactly one.
func (j *judge) socket(line string) {
	found := map[sandbox.HostPort]bool{}
	for _, m := range shapes().url.FindAllStringSubmatch(strings.Join(j.outcome.Argv, " "), 20) {
		h := sandbox.HostPort{Host: strings.ToLower(strings.Trim(m[2], "[]")), Port: portOfURL(m[1], m[3])}
		found[h] = true
	}
	d := sandbox.Denial{Kind: sandbox.KindNetwork, Operation: opSocket, Target: opSocket, Program: programOf(line), Errno: "EPERM"}
	if len(found) == 1 && !strings.Contains(line, "listen") {
		for h := range found {
			if j.policy.JudgeHost(h).Allowed {
				return
			}
			if _, err := netip.ParseAddr(h.Host); err == nil || strings.Contains(h.Host, ".") || h.Host == "localhost" {
				d.Operation, d.Target = "connect", h.String()
			}
		}
	}
	j.add(d)
}

// dropVague removes the denials without a host when others say whom.
func (j *judge) dropVague() {
	named := false
	for _, d := range j.found {
		named = named || d.Kind == sandbox.KindNetwork && d.Operation != opSocket
	}
	if !named {
		return
	}
	kept := j.found[:0]
	for _, d := range j.found {
		if d.Kind != sandbox.KindNetwork || d.Operation != opSocket {
			kept = append(kept, d)
		}
	}
	j.found = kept
}

// syscall takes up a system call that the filter refuses to everybody.
func (j *judge) syscall(name, program string) {
	j.add(sandbox.Denial{Kind: sandbox.KindSyscall, Operation: name, Target: name, Program: program, Errno: "EPERM"})
}
