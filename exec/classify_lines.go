package exec

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// maxLineText bounds a line: what stands further back is no message.
const maxLineText = 2000

// sighting is what one line says beside the path it names.
type sighting struct {
	program, errno, operation string
	// reads: the words say that it was a read, or a start of a program.
	reads bool
}

// read goes through the output, line by line.
func (j *judge) read() {
	lines := splitLines(j.outcome.Output)
	for i, line := range lines {
		if !speaks(line) || quotes(line) || j.network(lines, i) || warns(line) || j.privilege(line) {
			continue
		}
		j.refusal(lines, i)
	}
	j.dropVague()
}

// triggers are words of which every shape of a refusal has one; most lines have
// none, and are done with.
var triggers = []string{"denied", "permi", "read-only", "resolv", "addrinfo", "lookup", "unreachable", "connect", "unknownhost", "listen",
	"name resolution", "name or service", "database", "output file", "translate host", "dial ", "new priv", "setuid", "effective uid"}

func speaks(line string) bool {
	lower := strings.ToLower(line)
	return slices.ContainsFunc(triggers, func(t string) bool { return strings.Contains(lower, t) })
}

// splitLines returns the lines of the output, plain and bounded: of one that was cut
// the head, what looked like errors in between, and the tail.
func splitLines(o Output) []string {
	if o.Skipped == 0 {
		return plainLines(slices.Concat(o.Head, o.Tail))
	}
	lines := append(plainLines(o.Head), "")
	for _, m := range o.Marks {
		lines = append(lines, plainLines([]byte(m.Text))...)
	}
	return append(append(lines, ""), plainLines(o.Tail)...)
}

func plainLines(data []byte) []string {
	if len(data) == 0 {
		return nil
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	for i, line := range lines {
		if len(line) > maxLineText {
			line = line[:maxLineText]
		}
		lines[i] = strings.TrimRight(plainQuotes.Replace(stripEscapes(line)), " \r\t")
	}
	return lines
}

// plainQuotes makes one kind of quotes of the typographic ones.
var plainQuotes = strings.NewReplacer("‘", "'", "’", "'", "“", `"`, "”", `"`, "`", "'")

// quotes reports whether a line repeats somebody's words: titles of tests,
// diffs, quotations, matches in a log.
func quotes(line string) bool {
	line = strings.TrimSpace(line)
	for _, mark := range []string{"✓", "✔", "√", "✗", "✘", "×", "+", "> ", "| ", "- ", "--- ", "=== ", "ok ", "PASS", "#", "//"} {
		if strings.HasPrefix(line, mark) {
			return true
		}
	}
	return shapes().logMatch.MatchString(line)
}

// warns reports whether a program says itself that it can do without.
func warns(line string) bool {
	lower := strings.ToLower(strings.TrimSpace(line[:min(len(line), 60)]))
	return strings.HasPrefix(lower, "warn") || strings.Contains(lower, "warning:") || strings.HasPrefix(lower, "npm warn")
}

// table holds the compiled shapes; they are compiled when a command first fails.
type table struct {
	phrase, verb, call, ruby, logMatch, syscalls, special *regexp.Regexp
	hosts                                                 []hostShape
	url, peer, loopback                                   *regexp.Regexp
	// Whose words a line has; some programs have neither.
	bySystem, byPeer *regexp.Regexp
}

var shapes = sync.OnceValue(func() *table {
	return &table{
		phrase: regexp.MustCompile(`(?i)\b(permission denied|operation not permitted|read-only file system|permissionerror|accessdeniedexception)\b`),
		// Words after which a bare path stands.
		verb: regexp.MustCompile(`^(?:.*\s)?(?i:create|creating|open|opening|mkdir|mkdirat|openat|unlink|unlinkat|remove|rmdir|write|file|directory|directory:|path|access|stat|lstat|template|chmod|chown|symlink|link|rename|lock|into|to|save|symlinkat)\s+(\S.*)$`),
		call: regexp.MustCompile(`^\w+\((.+)\)$`),
		ruby: regexp.MustCompile(`^ @ \w+ - (.+?)(?: \(E\w+::E\w+\)|$)`),
		// "app.log:12:…" and "12:…" as grep prints them.
		logMatch: regexp.MustCompile(`^(?:[^\s:]+\.(?:log|txt|md|out)[:-])?\d+[:-]|^[^\s:]+\.(?:log|txt|md|out):`),
		syscalls: regexp.MustCompile(`(?i)\b(ptrace|unshare|setns|keyctl|io_uring_setup|userfaultfd|process_vm_readv|pidfd_getfd|add_key|kcmp)\b.*operation not permitted`),
		special:  regexp.MustCompile(`unable to open database(?: file)? "([^"]+)"|Could not create output file \(([^)]+)\)|AccessDeniedException: (.+)$`),
		hosts:    hostShapes(),
		bySystem: regexp.MustCompile(refusedWords + `|\b(?:EPERM|EACCES|ENETUNREACH|EHOSTUNREACH)\b`),
		byPeer:   regexp.MustCompile(`(?i:connection refused|ECONNREFUSED)`),
		peer:     regexp.MustCompile(`(?:\bConnectionRefusedError: |<urlopen error |\bjava\.net\.ConnectException: |\bIO::Socket\S*: connect: |^failed: )(?:\[Errno \d+\] )?Connection refused`),
		loopback: regexp.MustCompile(`(?:^|[^\w.:])\[?(127(?:\.\d{1,3}){3}|localhost|::1)\]?["']?\s*[:,/]\s*(\d{1,5})\b`),
		url:      regexp.MustCompile(`\b(https?|ssh|git|ftp)://(?:[^/\s@'"]*@)?(\[[0-9a-fA-F:]+\]|[\w.-]+)(?::(\d+))?`),
	}
})

// refusal judges a line that says that something was refused.
func (j *judge) refusal(lines []string, i int) {
	line := lines[i]
	t := shapes()
	if m := t.special.FindStringSubmatch(line); m != nil {
		name := m[1] + m[2] + m[3]
		j.file(name, &sighting{program: programOf(line), operation: "open", errno: "EACCES"})
		return
	}
	if m := t.syscalls.FindStringSubmatch(line); m != nil {
		j.syscall(strings.ToLower(m[1]), programOf(line))
		return
	}
	at := t.phrase.FindStringIndex(line)
	if at == nil {
		return
	}
	// The last phrase is the one that ends the message ("PermissionError:
	// [Errno 13] Permission denied: …").
	for {
		next := t.phrase.FindStringIndex(line[at[1]:])
		if next == nil {
			break
		}
		at = []int{at[1] + next[0], at[1] + next[1]}
	}
	before, phrase, after := line[:at[0]], line[at[0]:at[1]], line[at[1]:]
	if strings.TrimSpace(before) == "" && i > 0 && line != strings.TrimLeft(line, " \t") {
		before = lines[i-1] + ": " // the message goes on in a second, indented line
	}
	s := j.sighting(before, phrase, after)
	for _, names := range [][]string{namesAfter(after), namesBefore(before)} {
		refused := false
		for _, name := range names {
			refused = j.file(name, s) || refused
		}
		if refused {
			return
		}
	}
}

func (j *judge) sighting(before, phrase, after string) *sighting {
	s := &sighting{program: programOf(before), operation: "open"}
	switch p := strings.ToLower(phrase); {
	case strings.HasPrefix(p, "operation"):
		s.errno = "EPERM"
	case strings.HasPrefix(p, "read-only"):
		s.errno = "EROFS"
	default:
		s.errno = "EACCES"
	}
	words := strings.ToLower(before + " " + after)
	for _, row := range operations {
		if slices.ContainsFunc(row.words, func(w string) bool { return strings.Contains(words, w) }) {
			s.operation = row.name
			break
		}
	}
	s.reads = slices.Contains(readers, s.program) || slices.ContainsFunc(readingWords, func(w string) bool { return strings.Contains(words, w) })
	// 126 is a shell's word for "found, but cannot be executed".
	if j.outcome.Status.Exit == 126 {
		s.reads = true
	}
	return s
}

// operations names what was tried, by the words around it.
var operations = []struct {
	name  string
	words []string
}{
	{"mkdir", []string{"mkdir", "create directory", "directories"}},
	{"rename", []string{"rename", "cannot move"}},
	{"rmdir", []string{"rmdir"}},
	{"unlink", []string{"unlink", "remove"}},
	{"symlink", []string{"symbolic link", "symlink"}},
	{"link", []string{"hard link"}},
	{"chmod", []string{"chmod", "changing permissions"}},
}

// readers are programs that write nothing but their output.
var readers = []string{"cat", "ls", "head", "tail", "grep", "egrep", "fgrep", "rg", "find", "less", "more", "wc", "diff", "cmp",
	"stat", "file", "od", "xxd", "hexdump", "md5sum", "sha256sum", "du", "tree", "uniq", "cut", "source", "."}

var readingWords = []string{"for reading", "cannot open directory", "cannot read", "can't read", "could not read", "unable to read",
	"error reading", "opendir", "scandir", "readdir", "cannot access", "reading "}

// programOf takes the name off the front of "name: message".
func programOf(line string) string {
	name, _, ok := strings.Cut(line, ":")
	if !ok || name == "" || len(name) > 64 || strings.ContainsAny(name, " \t'\"(") {
		return ""
	}
	return path.Base(name)
}

// namesAfter finds paths behind the phrase: node's ", open '/x'", python's
// ": '/x'", ruby's " @ rb_sysopen - /x".
func namesAfter(after string) []string {
	if m := shapes().ruby.FindStringSubmatch(after); m != nil {
		return []string{m[1]}
	}
	if after == "" || after[0] != ':' && after[0] != ',' {
		return nil
	}
	return quoted(after)
}

// namesBefore finds paths in the clause before the phrase.
func namesBefore(before string) []string {
	before = strings.TrimRight(before, " \t")
	before = strings.TrimSuffix(before, "(")
	before = strings.TrimRight(before, " \t:")
	before = strings.TrimSuffix(before, " [Errno 13]")
	clauses := splitClauses(before)
	// "tar: a: Cannot open" and "f(/x): Failed to open stream": the words alone
	// are no path, the clause before them is.
	for n := len(clauses) - 1; n >= 0 && n >= len(clauses)-2; n-- {
		clause := strings.TrimSpace(clauses[n])
		if names := quoted(clause); len(names) > 0 {
			return names
		}
		if m := shapes().call.FindStringSubmatch(clause); m != nil {
			return []string{m[1]}
		}
		if onlyWords(clause) {
			continue
		}
		return barePaths(clause, n == 0)
	}
	return nil
}

// onlyWords reports whether a clause is a message without a path.
func onlyWords(clause string) bool {
	words := strings.Fields(clause)
	if len(words) < 2 || strings.Contains(clause, "/") {
		return false
	}
	switch strings.ToLower(words[0]) {
	case "cannot", "can't", "could", "couldn't", "failed", "unable":
		last := strings.ToLower(words[len(words)-1])
		return slices.Contains([]string{"open", "create", "mkdir", "write", "unlink", "stream", "file", "directory", "utime", "mode"}, last)
	}
	return false
}

// barePaths reads a clause without quotes: a path alone, or one after a verb.
// The first clause of a line, alone, is a program's name unless it has a slash.
func barePaths(clause string, first bool) []string {
	if m := shapes().verb.FindStringSubmatch(clause); m != nil {
		rest := m[1]
		if both := strings.Fields(rest); len(both) == 2 && (strings.HasPrefix(clause, "rename ") || strings.HasPrefix(clause, "link ") || strings.HasPrefix(clause, "symlink ")) {
			return both // Go's LinkError
		}
		return []string{rest}
	}
	if strings.ContainsAny(clause, " \t") && !strings.HasPrefix(clause, "/") {
		// java's "…FileNotFoundException: ../x (Permission denied)" is a clause of
		// its own; words with spaces are not.
		return nil
	}
	if first && !strings.Contains(clause, "/") {
		return nil
	}
	return []string{clause}
}

// splitClauses cuts at ": " outside quotes.
func splitClauses(s string) []string {
	var out []string
	start := 0
	for i := 0; i < len(s); i++ {
		if end := quoteEnd(s, i); end > 0 {
			i = end
			continue
		}
		if s[i] == ':' && i+1 < len(s) && (s[i+1] == ' ' || s[i+1] == '\t') {
			out = append(out, s[start:i])
			start = i + 1
		}
	}
	return append(out, s[start:])
}

// quoted returns what stands in quotes.
func quoted(s string) []string {
	var out []string
	for i := 0; i < len(s); i++ {
		if end := quoteEnd(s, i); end > 0 {
			if name := s[i+1 : end]; name != "" {
				out = append(out, name)
			}
			i = end
		}
	}
	return out
}

// quoteEnd returns where the quotation that begins at i ends, or 0. An
// apostrophe inside a word neither begins nor ends one.
func quoteEnd(s string, i int) int {
	c := s[i]
	if c != '\'' && c != '"' || i > 0 && wordByte(s[i-1]) {
		return 0
	}
	for end := i + 1; end < len(s); end++ {
		if s[end] == c && (end+1 == len(s) || !wordByte(s[end+1])) {
			return end
		}
	}
	return 0
}

func wordByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b >= 0x80
}
