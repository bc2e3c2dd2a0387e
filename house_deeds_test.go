package house

import (
	"go/ast"
	"go/types"
	"path"
	"slices"
	"strings"
	"testing"
)

// Deeds: what codeagent does on the host by a name. The room hostfile is the door for
// them; its package comment says why. Outside it every function below is refused, called
// or taken as a value, under whatever name its package is imported.

// deeds lists, by package, the functions that act on a name. In package os everything
// does but what osHarmless lists: a new version of Go may bring more.
var deeds = map[string][]string{
	"io/ioutil":                  {"*"},
	"plugin":                     {"*"},
	"path/filepath":              {"EvalSymlinks", "Walk", "WalkDir", "Glob"},
	"text/template":              {"ParseFiles", "ParseGlob"},
	"crypto/tls":                 {"LoadX509KeyPair"},
	"crypto/x509":                {"SetFallbackRoots"},
	"archive/zip":                {"OpenReader"},
	"debug/elf":                  {"Open"},
	"go/parser":                  {"ParseFile", "ParseDir"},
	"net/http":                   {"ServeFile", "Dir", "NewFileTransport"},
	"syscall":                    systemCalls,
	"golang.org/x/sys/unix":      systemCalls,
	"github.com/creack/pty":      {"Start*"},
	"golang.org/x/sys/execabs":   {"*"},
	"github.com/spf13/cobra/doc": {"*"},
	// They execute tmux by PATH and open files by TERMINFO: internal/environ says more.
	"github.com/charmbracelet/colorprofile": {"Detect", "NewWriter", "Tmux", "Terminfo"},
	"charm.land/lipgloss/v2":                {"Print*", "Fprint*", "Sprint*", "Writer", "HasDarkBackground", "BackgroundColor"},
	"charm.land/lipgloss/v2/compat":         {"*"},
	"charm.land/bubbletea/v2":               {"ExecProcess"},
}

// systemCalls are those that take a path, start a program, or reach everything.
var systemCalls = []string{
	"Open", "Openat*", "OpenTree", "Creat", "Mkdir*", "Mkfifo*", "Mknod*", "Rename*", "Unlink*", "Rmdir", "Link*", "Symlink*", "Readlink*", "Truncate",
	"Chmod", "Fchmodat*", "Chown", "Lchown", "Fchownat", "Utime*", "Futimesat", "Stat", "Lstat", "Fstatat*", "Statx", "Access", "Faccessat*",
	"Chdir", "Chroot", "PivotRoot", "Mount", "MountSetattr", "Unmount*", "MoveMount", "Exec*", "ForkExec", "StartProcess", "Syscall*", "RawSyscall*",
	"Setxattr", "Lsetxattr", "Removexattr", "Lremovexattr", "Getxattr", "Lgetxattr", "Listxattr", "Llistxattr", "Statfs", "InotifyAddWatch",
	"Exchangedata", "Clonefile*", "Fclonefileat", "RenameatxNp", "Acct", "Swapon", "Quotactl", "NameToHandleAt", "OpenByHandleAt",
}

// osHarmless is what package os offers that acts on no name: types, constants, errors,
// the process itself, and what is open already.
var osHarmless = []string{
	"File", "FileInfo", "FileMode", "DirEntry", "Root", "Process", "ProcessState", "ProcAttr", "Signal", "PathError", "LinkError", "SyscallError", "NewSyscallError",
	"Err*", "O_*", "Mode*", "Is*", "SEEK_*", "DevNull", "PathSeparator", "PathListSeparator", "SameFile", "NewFile", "Pipe", "Stdin", "Stdout", "Stderr",
	"Args", "Environ", "Getenv", "LookupEnv", "ExpandEnv", "Expand", "Setenv", "Unsetenv", "Clearenv", "Exit", "Executable", "Getwd", "Hostname", "TempDir",
	"Getpid", "Getppid", "Getuid", "Geteuid", "Getgid", "Getegid", "Getgroups", "Getpagesize", "UserHomeDir", "UserCacheDir", "UserConfigDir", "FindProcess", "Interrupt", "Kill",
}

// exception lets files do deeds of their own.
type exception struct {
	pattern string   // as in permitted
	deeds   []string // "os.Open", "unix.*"; the package by the last part of its path
	reason  string
}

var exceptions = []exception{
	{"hostfile", []string{"os.*", "unix.*"}, "is the door"},
	{"internal/fileworker", []string{"os.*", "syscall.Open"}, "runs inside the sandbox, under the policy of the call that it serves"},
	{"linuxsandbox", []string{"unix.*"}, "makes the sandbox and holds it: it acts on descriptors that it has opened and judged, for the command or in mounts that nobody else sees"},
	{"linuxsandbox/keeper", []string{"unix.*", "syscall.*"}, "confines itself: mounts in a namespace of its own, the paths that its Spec names, the command that it starts"},
	{"linuxsandbox/keeper", []string{"os.ReadFile", "os.WriteFile"}, "the kernel's own files in /proc/sys"},
	{"linuxsandbox/filter", []string{"unix.Open", "unix.Syscall"}, "puts the filter on the calling thread and reads /proc/thread-self/status"},
	{"linuxsandbox/broker", []string{"unix.*", "os.ReadDir"}, "makes the changes of a command: it acts on descriptors that it has opened and judged, with the rights of the command"},
	{"linuxsandbox/broker/judge", []string{"unix.Open", "unix.Stat", "unix.Lstat", "unix.Fstatat", "unix.Mkdirat"}, "looks at what a call would change; it makes the session's folder for shared memory, and opens the file by which sessions lock"},
	{"linuxsandbox/broker/processes", []string{"unix.Getxattr", "os.ReadDir"}, "finds what a program's file would give it, and the threads of a process"},
	{"linuxsandbox/broker/terminal", []string{"unix.Open", "unix.Syscall", "unix.Stat"}, "opens the device of new terminals, and its own references"},
	{"linuxsandbox/broker/umask", []string{"unix.Openat"}, "makes the file that the broker has judged"},
	{"linuxsandbox/broker/calls", []string{"unix.*"}, "changes the mode, owner, times and attributes of a file that was opened and judged"},
	{"linuxsandbox/broker/notify", []string{"unix.Syscall", "unix.RawSyscall"}, "calls of a seccomp listener, which x/sys/unix does not wrap"},
	{"linuxsandbox/control", []string{"unix.Syscall6"}, "sends on the control socket"},
	{"linuxsandbox/broker/pathwalk", []string{"unix.*"}, "opens for reference only, with the rights of the command, and judges nothing"},
	{"linuxsandbox/broker/sockets", []string{"unix.Open", "unix.Access", "unix.Fchmodat", "unix.Syscall", "os.Readlink", "os.ReadFile"}, "acts on its own descriptors by /proc/self/fd, on the memory and the descriptors of the caller by /proc, and reads the table of sockets there"},
	{"linuxsandbox/kernel", []string{"unix.Fchmodat", "unix.Open", "unix.Openat2", "unix.Readlink", "os.Open", "syscall.RawSyscall6"}, "opens for reference only, through no link, and reads /proc"},
	{"linuxsandbox", []string{"os.ReadFile", "os.ReadDir", "os.OpenFile", "os.Readlink"}, "the kernel's own files: /proc, /dev/null; the system's name servers"},
	{"linuxsandbox/cgroup", []string{"os.ReadFile", "os.ReadDir", "os.OpenFile", "os.Mkdir", "unix.Open", "unix.Rmdir", "unix.Access"}, "the kernel's own files of control groups"},
	{"linuxsandbox/fork.go", []string{"syscall.ForkExec"}, "starts the helper from its open, sealed copy"},
	{"linuxsandbox/keeper/container.go", []string{"syscall.ForkExec"}, "starts keepers from its own file"},
	{"linuxsandbox/plan", []string{"os.Lstat", "os.ReadDir", "filepath.EvalSymlinks", "unix.Access"}, "looks at paths of the policy before the helper opens them, through no link, and for the files that its globs match; it changes nothing"},
	{"linuxsandbox/program", []string{"unix.Open", "os.Stat"}, "opens the helper beside the running program, to copy it"},
	{"linuxsandbox/netns", []string{"unix.Open", "unix.Syscall"}, "opens the namespaces of a keeper in /proc; bind and connect with addresses as bytes"},
	{"backends/wasm/module", []string{"unix.*"}, "makes the calls of a module: it acts on folders that it has opened and judged"},
	{"backends/wasm/module/run.go", []string{"os.ReadFile"}, "reads the module in the sandbox, where its sum is compared"},
	{"backends/wasm/module/skeleton.go", []string{"os.ReadFile", "os.Open", "os.WriteFile", "os.Rename", "filepath.Glob"}, "keeps and reads compiled code, in the sandbox, in the folder of one module"},
	{"patterns/store/priority_linux.go", []string{"unix.Syscall"}, "ioprio_set, which x/sys/unix does not wrap"},
	{"seatbelt", []string{"os.*", "filepath.EvalSymlinks"}, "macOS: looks at paths of the policy, and tries a profile in a folder of its own; it runs the system's /usr/bin/sandbox-exec and /bin/ps"},
	{"undo/look.go", []string{"unix.Fstatat", "unix.Readlinkat"}, "looks below folders that it holds open over many paths"},
	{"undo/look_linux.go", []string{"unix.Statx"}, "when an entry of such a folder was made, which no other call says"},
	{"exec/plain*.go", []string{"os.*"}, "the backend without a sandbox: starts what may run unconfined, and reads /proc to end what it left"},
	{"cmd/codeagent/doctor/tries.go", []string{"os.Chmod", "os.WriteFile", "os.OpenFile", "os.StartProcess"}, "what doctor tries: the same call outside and inside the sandbox, on targets in a folder of its own"},
}

// deedOf names the deed of a selector; "" for any other.
func deedOf(info *types.Info, sel *ast.SelectorExpr) string {
	id, ok := sel.X.(*ast.Ident)
	if !ok {
		return ""
	}
	pkg, ok := info.Uses[id].(*types.PkgName)
	if !ok {
		return ""
	}
	from, name := pkg.Imported().Path(), sel.Sel.Name
	if from == "os" && !matches(osHarmless, name) || matches(deeds[from], name) {
		return path.Base(from) + "." + name
	}
	return ""
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		start, open := strings.CutSuffix(p, "*")
		return p == name || open && strings.HasPrefix(name, start)
	})
}

// findDeeds reports each deed of a file that no exception lets it do.
func (c *checker) findDeeds(f source, info *types.Info) {
	ast.Inspect(f.ast, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if deed := deedOf(info, sel); deed != "" && !c.house.excepted(f, deed) {
			c.house.say(sel.Pos(), "%s uses %s: what codeagent does on the host goes through hostfile", f.name, deed)
		}
		return true
	})
}

// excepted reports whether an exception lets f do the deed, and notes that it was used.
func (h *house) excepted(f source, deed string) bool {
	found := false
	for _, e := range exceptions {
		if !lets([]permitted{{pattern: e.pattern}}, f) {
			continue
		}
		for _, d := range e.deeds {
			if matches([]string{d}, deed) {
				h.types.used[e.pattern+" "+d] = true
				found = true
			}
		}
	}
	return found
}

// TestUnusedExceptions: an exception that nothing needs is taken away.
func TestUnusedExceptions(t *testing.T) {
	h, err := load(".")
	if err != nil {
		t.Fatal(err)
	}
	h.check()
	for _, e := range exceptions {
		if e.reason == "" {
			t.Errorf("%s is let through without a reason", e.pattern)
		}
		for _, d := range e.deeds {
			if !h.types.used[e.pattern+" "+d] {
				t.Errorf("%s may use %s, and does not", e.pattern, d)
			}
		}
	}
}
