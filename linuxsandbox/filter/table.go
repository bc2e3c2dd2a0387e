//go:build linux

package filter

import "golang.org/x/sys/unix"

// This file defines what the filter does. It is data: one row for each rule, with its reason. The
// programs of programs.go are generated from it, and tests compare each of their answers with it.
//
// Before any row, for every call:
//
//	architecture is not the native one      -> kill the process
//	number of the x32 convention (amd64)    -> kill the process
//	number above the newest of the table    -> ENOSYS (-1 is among them)
//	number in a hole of the table           -> ENOSYS
//
// The first two stop a program built for another machine, for which the same number means another
// call. The other two give the answer of an older kernel to a newer call, so that programs fall
// back to older calls.
//
// Then come the rows that name the call, from the top. The first row whose tests all hold decides.
// A call that no row decides is allowed.
//
// The errno is EPERM, which programs print as "Operation not permitted". A row says so if another
// errno makes programs fall back to something that works.

// action is what the kernel does with a call: a seccomp return value.
type action uint32

const (
	allow action = unix.SECCOMP_RET_ALLOW
	kill  action = unix.SECCOMP_RET_KILL_PROCESS

	eperm        = action(unix.SECCOMP_RET_ERRNO) | action(unix.EPERM)
	enosys       = action(unix.SECCOMP_RET_ERRNO) | action(unix.ENOSYS)
	einval       = action(unix.SECCOMP_RET_ERRNO) | action(unix.EINVAL)
	eopnotsupp   = action(unix.SECCOMP_RET_ERRNO) | action(unix.EOPNOTSUPP)
	eafnosupport = action(unix.SECCOMP_RET_ERRNO) | action(unix.EAFNOSUPPORT)

	eprotonosupport = action(unix.SECCOMP_RET_ERRNO) | action(unix.EPROTONOSUPPORT)
	enoprotoopt     = action(unix.SECCOMP_RET_ERRNO) | action(unix.ENOPROTOOPT)
	// success returns 0 without carrying out the call.
	success = action(unix.SECCOMP_RET_ERRNO)
	// ask holds the call until the broker has answered it.
	ask action = unix.SECCOMP_RET_USER_NOTIF
)

// rule is one row: it applies do to the named calls if every test holds.
type rule struct {
	calls []string
	// only limits the row to some Options; the zero value applies to all.
	only scope
	when []test
	do   action
	why  string
}

// test checks one argument. Most calls use the low 32 bits of an argument and drop the rest. A
// comparison of all 64 bits would take AF_UNIX|1<<32 for another family and let it pass. So a test
// compares only the low half, unless it is wide.
type test struct {
	arg int // 0 to 5
	// mask is applied to the low half first; 0 means all 32 bits.
	mask uint32
	// in are the values for which the test holds.
	in []uint32
	// not inverts the result.
	not bool
	// wide is for pointers and longs: a value with a bit set in its high half is not in the list.
	wide bool
}

// scope is a set of conditions on Options, all of which must hold. It fits into two bytes of a BPF
// instruction, where a generated program stores it.
type scope uint16

const (
	inetDenied scope = 1 << iota
	inetAllowed
	unixDenied
	unixAllowed
	filesAsked
	sendsAsked
	locksAsked
	readsAsked
	signalsAsked
	ownIPC
	traces
	inetAsked
	empties
	looksAsked
	programsAsked
	brokered // some call goes to the broker

	noSockets = inetDenied | unixDenied
)

func (s scope) covers(o Options) bool {
	return (s&inetDenied == 0 || !o.AllowInet) && (s&inetAllowed == 0 || o.AllowInet) && (s&inetAsked == 0 || o.AskInet) &&
		(s&unixDenied == 0 || !o.AllowUnix) && (s&unixAllowed == 0 || o.AllowUnix) &&
		(s&filesAsked == 0 || o.Ask) && (s&sendsAsked == 0 || o.AskSends) &&
		(s&locksAsked == 0 || o.AskLocks) && (s&readsAsked == 0 || o.AskReads) && (s&looksAsked == 0 || o.AskLooks) && (s&programsAsked == 0 || o.AskPrograms) && (s&signalsAsked == 0 || o.AskSignals) &&
		(s&ownIPC == 0 || o.OwnIPC) && (s&traces == 0 || o.Traces) && (s&empties == 0 || o.Empties) && (s&brokered == 0 || o.Brokered())
}

const (
	// cloneNamespaces is every CLONE_NEW* flag that clone(2) accepts. CLONE_NEWTIME is not among
	// them: there its bit is part of the exit signal.
	cloneNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
		unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
	// unshareHarmless are the flags of unshare(2) that create no namespace.
	unshareHarmless = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND |
		unix.CLONE_THREAD | unix.CLONE_SYSVSEM
	// WriteIntent are the flags of open(2) that may change something, in addition to the access
	// mode. O_TMPFILE has several bits; the last value here is the bit that only it has.
	WriteIntent = unix.O_CREAT | unix.O_TRUNC | 0o20000000
	// SocketType is the kernel's SOCK_TYPE_MASK: the type without SOCK_CLOEXEC and SOCK_NONBLOCK.
	SocketType = 0xf
	// ioctlType is the byte of a request number that identifies the driver.
	ioctlType = 0xff00
	// ownUser and ownGroup stand in the table for Options.User and Options.Group, which link puts there.
	// No other value of the table is one of them.
	ownUser, ownGroup = 0xfffe0001, 0xfffe0002
	// noChange is the id -1, with which a call leaves an id as it is.
	noChange = 0xffffffff
)

// ipcCalls concern shared memory, semaphores and queues that are identified by number.
var ipcCalls = []string{
	"shmget", "shmat", "shmctl", "semget", "semop", "semtimedop", "semctl", "msgget", "msgsnd", "msgrcv", "msgctl",
}

// harmlessIP and harmlessIPv6 are the options of IP that change how a packet is made or reported, and not
// where it goes.
var (
	harmlessIP = []uint32{
		unix.IP_TOS, unix.IP_TTL, unix.IP_PKTINFO, unix.IP_MTU_DISCOVER, unix.IP_RECVERR, unix.IP_RECVTTL, unix.IP_RECVTOS,
		unix.IP_BIND_ADDRESS_NO_PORT, unix.IP_MULTICAST_TTL, unix.IP_MULTICAST_LOOP, unix.IP_RECVORIGDSTADDR, unix.IP_LOCAL_PORT_RANGE,
	}
	harmlessIPv6 = []uint32{
		unix.IPV6_V6ONLY, unix.IPV6_UNICAST_HOPS, unix.IPV6_MULTICAST_HOPS, unix.IPV6_MULTICAST_LOOP, unix.IPV6_RECVPKTINFO, unix.IPV6_RECVHOPLIMIT,
		unix.IPV6_TCLASS, unix.IPV6_RECVTCLASS, unix.IPV6_MTU_DISCOVER, unix.IPV6_RECVERR, unix.IPV6_DONTFRAG, unix.IPV6_ADDR_PREFERENCES, unix.IPV6_AUTOFLOWLABEL,
	}
)

// lookups look a name up, and change nothing.
var lookups = []string{
	"open", "openat", "access", "faccessat", "faccessat2", "stat", "lstat", "newfstatat", "fstatat", "statx", "statfs", "readlink", "readlinkat",
	"chdir", "getxattr", "lgetxattr", "getxattrat", "listxattr", "llistxattr", "listxattrat", "inotify_add_watch",
}

var lingers = []test{{arg: 1, in: []uint32{unix.SOL_SOCKET}}, {arg: 2, in: []uint32{unix.SO_LINGER}}}

var table = []rule{
	{calls: ipcCalls, only: ownIPC, do: allow,
		why: "a number means one of the command's own IPC namespace, which ends with it: databases, fakeroot"},
	{calls: []string{"ptrace"}, only: traces, when: []test{{arg: 0, in: []uint32{unix.PTRACE_TRACEME, unix.PTRACE_ATTACH, unix.PTRACE_SEIZE}}}, do: ask,
		why: "they begin a trace: the broker records what Landlock refuses, and keeps the keeper from becoming a tracer"},
	{calls: []string{"ptrace"}, only: traces, do: allow,
		why: "debuggers, strace and LeakSanitizer drive what they trace. The filter judges a call after its tracer has changed it (Linux 4.8)"},

	// If there is a broker, it refuses these calls, which the rows below would refuse too, and
	// records the denial. The list omits calls that ordinary programs try but do not need.
	{calls: []string{
		"ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "setns",
		"mount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount", "fsopen", "fsmount", "mount_setattr",
		"open_by_handle_at", "bpf", "perf_event_open", "userfaultfd", "keyctl", "add_key", "request_key",
		"shmget", "semget", "msgget", "mq_open", "init_module", "finit_module", "delete_module",
		"reboot", "swapon", "swapoff", "sethostname", "settimeofday", "clock_settime", "syslog",
	}, only: brokered, do: ask,
		why: "programs fail without these, and report it in many ways"},
	{calls: []string{"unshare"}, only: brokered, when: []test{{arg: 0, mask: ^uint32(unshareHarmless), in: []uint32{0}, not: true, wide: true}}, do: ask,
		why: "the same"},
	{calls: []string{"clone"}, only: brokered, when: []test{{arg: 0, mask: cloneNamespaces, in: []uint32{0}, not: true}}, do: ask,
		why: "the same"},

	// Other processes.
	{calls: []string{"kill"}, only: signalsAsked, when: []test{{arg: 0, mask: 1 << 31, in: []uint32{0}}}, do: ask,
		why: "always proceeds: the broker records a process that exists outside alone. Runtimes signal their own threads by tgkill. " +
			"A negative number is a group or all: with -1 the keeper's thread ends the command when there is no broker any more"},
	{calls: []string{"pidfd_open"}, only: signalsAsked, do: ask,
		why: "the same: what it opens is mostly signalled"},
	{calls: []string{"ptrace"}, do: eperm,
		why: "drives any other process of the user, and children past this very filter"},
	{calls: []string{"process_vm_readv", "process_vm_writev"}, do: eperm,
		why: "reads and writes the memory of other processes"},
	{calls: []string{"process_madvise", "process_mrelease"}, do: eperm,
		why: "drops memory of other processes"},
	{calls: []string{"pidfd_getfd"}, do: eperm,
		why: "takes open files and sockets out of other processes"},
	{calls: []string{"kcmp"}, do: eperm,
		why: "compares kernel objects of other processes, which gives away their order in memory"},
	{calls: []string{"move_pages", "migrate_pages"}, when: []test{{arg: 0, in: []uint32{0}, not: true}}, do: eperm,
		why: "moves the memory of another process; 0 is oneself"},
	{calls: []string{"setpriority"}, when: []test{{arg: 0, in: []uint32{unix.PRIO_PROCESS}}, {arg: 1, in: []uint32{0}}}, do: allow,
		why: "nice(1) and nice(2) on oneself; a group or a user reaches processes outside"},
	{calls: []string{"setpriority"}, only: brokered, when: []test{{arg: 0, in: []uint32{unix.PRIO_PROCESS}}}, do: ask,
		why: "the caller's own number, or a child's in a PID namespace: the broker knows them"},
	{calls: []string{"setpriority"}, do: eperm,
		why: "slows down other processes; without a broker the caller's own pid is refused too: no filter can know it"},
	{calls: []string{"ioprio_set"}, when: []test{{arg: 0, in: []uint32{ioprioWhoProcess}}, {arg: 1, in: []uint32{0}}}, do: allow,
		why: "ionice(1) on oneself"},
	{calls: []string{"ioprio_set"}, only: brokered, when: []test{{arg: 0, in: []uint32{ioprioWhoProcess}}}, do: ask,
		why: "one's own number, as with setpriority"},
	{calls: []string{"ioprio_set"}, do: eperm,
		why: "slows down the disk work of other processes"},
	{calls: []string{"sched_setparam", "sched_setscheduler", "sched_setattr", "sched_setaffinity"}, only: brokered,
		when: []test{{arg: 0, in: []uint32{0}, not: true}}, do: ask,
		why: "one's own number, as with setpriority: libraries pin and rank threads by theirs"},
	{calls: []string{"sched_setparam", "sched_setscheduler", "sched_setattr", "sched_setaffinity"},
		when: []test{{arg: 0, in: []uint32{0}, not: true}}, do: eperm,
		why: "stops or pins other processes; 0 is oneself. Without a broker a thread that names itself by number is refused too"},
	{calls: []string{"prlimit64"}, only: brokered, when: []test{
		{arg: 0, in: []uint32{0}, not: true}, {arg: 1, in: []uint32{unix.RLIMIT_CORE}, not: true}, {arg: 2, in: []uint32{0}, not: true, wide: true},
	}, do: ask,
		why: "one's own number, as with setpriority; core limits are no process's to change"},
	{calls: []string{"prlimit64"}, when: []test{{arg: 0, in: []uint32{0}, not: true}, {arg: 2, in: []uint32{0}, not: true, wide: true}}, do: eperm,
		why: "sets limits of another process; 0 is oneself, and without new limits it only reads"},
	{calls: []string{"setrlimit"}, when: []test{{arg: 0, in: []uint32{unix.RLIMIT_CORE}}}, do: success,
		why: "a core limit of 1 keeps the host's handler of crashes from running, one of 0 does not; programs that set 0 mean the same"},
	{calls: []string{"prlimit64"}, when: []test{{arg: 1, in: []uint32{unix.RLIMIT_CORE}}, {arg: 2, in: []uint32{0}, not: true, wide: true}}, do: success,
		why: "the same by its newer name"},

	// Namespaces. A process would have all rights over a new one, also those that the rows below
	// refuse.
	{calls: []string{"setns"}, do: eperm,
		why: "enters the namespaces of another process"},
	{calls: []string{"unshare"}, when: []test{{arg: 0, mask: ^uint32(unshareHarmless), in: []uint32{0}, not: true, wide: true}}, do: eperm,
		why: "a user namespace gives all capabilities inside; only known harmless flags pass, later kernels have new ones"},
	{calls: []string{"clone"}, when: []test{{arg: 0, mask: cloneNamespaces, in: []uint32{0}, not: true}}, do: eperm,
		why: "the same by clone; the kernel takes the low 32 bits of the flags"},
	{calls: []string{"clone3"}, do: enosys,
		why: "its flags lie in memory where no filter can read them; every libc falls back to clone on ENOSYS"},

	// Users and groups. A command has one of each and cannot have another. In a user namespace no other one
	// exists, and the kernel would answer EINVAL, which programs take for their own mistake.
	{calls: []string{"setuid", "setreuid", "setresuid"}, when: []test{{arg: 0, in: []uint32{ownUser, noChange}, not: true}}, do: eperm,
		why: "what the kernel answers everywhere else; programs then go on as who they are"},
	{calls: []string{"setreuid", "setresuid"}, when: []test{{arg: 1, in: []uint32{ownUser, noChange}, not: true}}, do: eperm,
		why: "the same for the effective user"},
	{calls: []string{"setresuid"}, when: []test{{arg: 2, in: []uint32{ownUser, noChange}, not: true}}, do: eperm,
		why: "the same for the saved user"},
	{calls: []string{"setgid", "setregid", "setresgid"}, when: []test{{arg: 0, in: []uint32{ownGroup, noChange}, not: true}}, do: eperm,
		why: "the same for groups; setgroups answers EPERM by itself"},
	{calls: []string{"setregid", "setresgid"}, when: []test{{arg: 1, in: []uint32{ownGroup, noChange}, not: true}}, do: eperm,
		why: "the same"},
	{calls: []string{"setresgid"}, when: []test{{arg: 2, in: []uint32{ownGroup, noChange}, not: true}}, do: eperm,
		why: "the same"},

	// Mounts.
	{calls: []string{"mount", "umount2", "pivot_root", "chroot"}, do: eperm,
		why: "changes what a path means, so that a rule about a path no longer holds"},
	{calls: []string{"open_tree", "open_tree_attr", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr"}, do: eperm,
		why: "the same by the newer calls; statmount and listmount only report"},

	// Access to files without path checks.
	{calls: []string{"open_by_handle_at"}, do: eperm,
		why: "opens a file by number, below every directory rule"},
	{calls: []string{"name_to_handle_at"}, do: eopnotsupp,
		why: "makes such numbers; refused as on a file system without them, for which every caller has a way around"},
	{calls: []string{"fanotify_init"}, do: eperm,
		why: "watches, and with privilege blocks, the file accesses of other processes; inotify stays"},
	{calls: []string{"quotactl", "quotactl_fd"}, do: eperm,
		why: "changes quotas of a whole file system"},

	// Ways to bypass the filter.
	{calls: []string{"io_uring_setup", "io_uring_enter", "io_uring_register"}, do: eperm,
		why: "opens, connects and writes without system calls; EPERM is what the sysctl io_uring_disabled answers"},
	{calls: []string{"bpf"}, do: eperm,
		why: "loads programs into the kernel"},
	{calls: []string{"perf_event_open"}, do: eperm,
		why: "samples other processes and the kernel; a rich source of kernel holes"},
	{calls: []string{"userfaultfd"}, do: eperm,
		why: "stops the kernel in the middle of a copy, which makes a race certain to be won"},

	// Keys. The command shares the session keyring with the program that started codeagent.
	{calls: []string{"keyctl", "add_key", "request_key"}, do: eperm,
		why: "reads and replaces the keys of the user's session; request_key starts a program on the host"},

	// Shared memory, semaphores and queues that are identified by number, not by path. A process
	// can guess an id, so the calls that use one are refused too. POSIX shared memory and
	// semaphores are files and stay allowed.
	{calls: ipcCalls, do: eperm,
		why: "reaches other programs of the user past every file rule, while there is no IPC namespace"},
	{calls: []string{"mq_open", "mq_unlink"}, do: eperm,
		why: "the same by name; the other mq calls need what mq_open returns. In a namespace Landlock refuses these files"},

	// Calls that affect the whole machine.
	{calls: []string{"init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load"}, do: eperm,
		why: "replaces kernel code"},
	{calls: []string{"reboot", "swapon", "swapoff", "acct", "sethostname", "setdomainname", "vhangup"}, do: eperm,
		why: "changes the machine for everybody"},
	{calls: []string{"settimeofday", "clock_settime", "clock_adjtime", "adjtimex"}, do: eperm,
		why: "sets the clock; the flag that makes it only read lies in memory"},
	{calls: []string{"syslog"}, do: eperm,
		why: "reads and clears the kernel's log"},
	{calls: []string{"iopl", "ioperm"}, do: eperm,
		why: "talks to devices directly"},
	{calls: []string{"lookup_dcookie", "nfsservctl", "uselib", "_sysctl"}, do: enosys,
		why: "gone from current kernels; older ones still have them"},
	{calls: []string{"personality"}, when: []test{{arg: 0, in: []uint32{0, perLinux32, uname26, perLinux32 | uname26, perQuery}, not: true}}, do: eperm,
		why: "switches off protections of memory (ADDR_NO_RANDOMIZE, READ_IMPLIES_EXEC, MMAP_PAGE_ZERO); setarch(1) without flags, and asking, pass"},

	// Terminals. The command may share the user's.
	{calls: []string{"ioctl"}, when: []test{{arg: 1, in: []uint32{unix.TIOCSTI, unix.TIOCLINUX, unix.TIOCSETD, unix.TIOCCONS, unix.TIOCEXCL}}}, do: eperm,
		why: "types into the user's terminal, pastes into the console, loads a line discipline, takes the console's output, lets nobody else open the terminal"},
	{calls: []string{"ioctl"}, only: brokered, when: []test{{arg: 1, in: []uint32{unix.TIOCSWINSZ}}}, do: ask,
		why: "gives a terminal's window another size: the broker knows which terminals are the command's own"},
	{calls: []string{"ioctl"}, when: []test{{arg: 1, in: []uint32{unix.TIOCSWINSZ, vtResize, vtResizex, kdfontop}}}, do: eperm,
		why: "the same without a broker, and by requests of the Linux console, which is never a command's own; a font has a size too"},
	{calls: []string{"ioctl"}, when: []test{{arg: 1, in: []uint32{kdskbent, kdskbsent, kdskbdiacr, kdskbdiacruc, kdsetkeycode}}}, do: eperm,
		why: "gives keys of the Linux console another meaning: what the user presses next is typed by the command"},

	// Calls that affect other programs through a descriptor that is open for reading.
	{calls: []string{"fcntl"}, when: []test{{arg: 1, in: []uint32{
		unix.F_GETLEASE, fDupfdQuery, fCreatedQuery, unix.F_DUPFD_CLOEXEC, unix.F_SETPIPE_SZ, unix.F_GETPIPE_SZ, unix.F_ADD_SEALS, unix.F_GET_SEALS,
		unix.F_GET_RW_HINT, unix.F_SET_RW_HINT, unix.F_GET_FILE_RW_HINT, unix.F_SET_FILE_RW_HINT,
	}}}, do: allow,
		why: "Linux's own commands that only report, or concern the descriptor alone"},
	{calls: []string{"fcntl"}, when: []test{{arg: 1, mask: ^uint32(linuxFcntl - 1), in: []uint32{0}, not: true}}, do: einval,
		why: "F_SETLEASE and F_SETDELEG hold up every program that opens the file, F_NOTIFY sends signals; EINVAL is how a file system without leases answers"},

	{calls: []string{"flock"}, only: locksAsked, do: ask,
		why: "a file that is open to read can be locked: every program of the host that locks it then waits"},
	{calls: []string{"ftruncate"}, only: locksAsked, do: ask,
		why: "it empties a file whose content undo may not be able to bring back"},

	// Attributes of files. Changing these needs ownership but no write access, so a command could
	// change any file that it can open for reading.
	{calls: []string{"ioctl"}, when: []test{{arg: 1, in: []uint32{unix.FICLONE, unix.FICLONERANGE, unix.FIDEDUPERANGE}}}, do: allow,
		why: "cp --reflink and dedupe: they write only to files open for writing, or change no content"},
	{calls: []string{"ioctl"}, when: []test{{arg: 1, in: []uint32{
		unix.FS_IOC_GETFLAGS, fsIocFiemap, fsIocFsgetxattr, fsIocGetfslabel, xfsIocDioinfo,
		unix.FS_IOC_GET_ENCRYPTION_POLICY, unix.FS_IOC_GET_ENCRYPTION_POLICY_EX, unix.FS_IOC_GET_ENCRYPTION_KEY_STATUS,
		unix.FS_IOC_GET_ENCRYPTION_NONCE, unix.FS_IOC_MEASURE_VERITY, unix.FS_IOC_READ_VERITY_METADATA,
		btrfsIocInoLookup, btrfsIocSubvolGetflags, btrfsIocFsInfo, btrfsIocGetSubvolInfo, btrfsIocInoLookupUser,
	}}}, do: allow,
		why: "only report: lsattr, filefrag, databases, backup programs"},
	{calls: []string{"ioctl"}, when: []test{{arg: 1, mask: ioctlType, in: []uint32{'f' << 8, 'X' << 8, 0x94 << 8}}}, do: eperm,
		why: "the rest of these: immutable and other flags, project ids, encryption, verity, freeze, trim, snapshots, labels"},
	{calls: []string{"ioctl"}, when: []test{{arg: 1, in: []uint32{fsIocSetversion, fatIoctlSetAttributes}}}, do: eperm,
		why: "the same under other letters: generation number, attributes on FAT and NTFS"},
	{calls: []string{"ioctl"}, when: []test{{arg: 1, in: []uint32{userfaultfdIocNew}}}, do: eperm,
		why: "userfaultfd by its device"},

	// Metadata of files, which Landlock does not handle.
	{calls: []string{
		"chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchown", "fchownat",
		"utime", "utimes", "futimesat", "utimensat",
		"setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr", "fremovexattr", "removexattrat",
	}, only: filesAsked, do: ask,
		why: "owning a file is enough to change these, wherever it lies and however it was opened; file_setattr is newer than the table"},

	// Changes of files by name. Landlock allows none of them where protected names may exist.
	{calls: []string{"open"}, only: filesAsked, when: []test{{arg: 1, mask: unix.O_ACCMODE | WriteIntent, in: []uint32{0}, not: true}}, do: ask,
		why: "may make or change a file; Landlock alone decides about an open for reading"},
	{calls: []string{"openat"}, only: filesAsked, when: []test{{arg: 2, mask: unix.O_ACCMODE | WriteIntent, in: []uint32{0}, not: true}}, do: ask,
		why: "the same"},
	{calls: []string{"openat2"}, only: empties, do: enosys,
		why: "its flags lie in memory where no filter can read them, and one of them empties the file; programs fall back to openat"},
	{calls: []string{"openat2"}, only: filesAsked, do: ask,
		why: "the same; its flags lie in memory"},
	{calls: []string{"open"}, only: readsAsked, when: []test{{arg: 1, mask: unix.O_PATH, in: []uint32{0}}}, do: ask,
		why: "only reads, and proceeds: the broker records what Landlock and the mounts refuse. With O_PATH nothing can be read"},
	{calls: []string{"openat"}, only: readsAsked, when: []test{{arg: 2, mask: unix.O_PATH, in: []uint32{0}}}, do: ask,
		why: "the same"},
	{calls: []string{
		"creat", "truncate", "mkdir", "mkdirat", "rmdir", "unlink", "unlinkat", "rename", "renameat", "renameat2",
		"link", "linkat", "symlink", "symlinkat", "mknod", "mknodat",
	}, only: filesAsked, do: ask,
		why: "make, remove, replace and move names, which can be protected ones"},
	{calls: []string{"truncate"}, only: empties, do: eperm,
		why: "without a broker: it opens nothing, so that Landlock below ABI 3 does not see it"},
	{calls: []string{"open"}, only: empties, when: []test{{arg: 1, mask: unix.O_ACCMODE | unix.O_TRUNC, in: []uint32{unix.O_TRUNC, unix.O_TRUNC | unix.O_ACCMODE}}}, do: eperm,
		why: "the same: it empties the file and opens it to read, or for ioctl alone"},
	{calls: []string{"openat"}, only: empties, when: []test{{arg: 2, mask: unix.O_ACCMODE | unix.O_TRUNC, in: []uint32{unix.O_TRUNC, unix.O_TRUNC | unix.O_ACCMODE}}}, do: eperm,
		why: "the same"},
	{calls: []string{"access"}, only: filesAsked, when: []test{{arg: 1, mask: unix.W_OK, in: []uint32{0}, not: true}}, do: ask,
		why: "always proceeds: the broker records what a read-only mount answers. Only probes for writing, which are rare"},
	{calls: []string{"faccessat", "faccessat2"}, only: filesAsked, when: []test{{arg: 2, mask: unix.W_OK, in: []uint32{0}, not: true}}, do: ask,
		why: "the same"},
	{calls: []string{"execve", "execveat"}, only: programsAsked, do: ask,
		why: "the policy lists what may be executed, and Landlock must also open the dynamic loader, which executes any file; or as for lookups"},
	{calls: lookups, only: looksAsked, do: ask,
		why: "always proceed: on a draft the broker records which names a command depends on"},
	{calls: []string{"umask"}, only: filesAsked, do: ask,
		why: "always proceeds; the broker makes files for the command and must know their umask"},

	{calls: []string{"exit_group"}, only: brokered, do: ask,
		why: "always proceeds; the broker learns which process failed after a refusal"},
	{calls: []string{"prctl"}, only: brokered, when: []test{{arg: 0, in: []uint32{unix.PR_SET_DUMPABLE}}}, do: success,
		why: "a process could make its memory unreadable, and the broker would have to refuse all its calls"},

	// Sockets. Every family is refused unless a row allows it.
	{calls: []string{"socket"}, only: unixAllowed, when: []test{
		{arg: 0, in: []uint32{unix.AF_UNIX}},
		{arg: 1, mask: SocketType, in: []uint32{unix.SOCK_STREAM, unix.SOCK_SEQPACKET}},
	}, do: allow,
		why: "the broker decides which of them are reached"},
	{calls: []string{"socket", "socketpair"}, only: sendsAsked, when: []test{
		{arg: 0, in: []uint32{unix.AF_UNIX}},
		{arg: 1, mask: SocketType, in: []uint32{unix.SOCK_DGRAM}},
	}, do: allow,
		why: "any message of theirs may carry an address, so the broker sends each. Elsewhere they stay shut"},
	{calls: []string{"socket"}, only: inetAllowed, when: []test{
		{arg: 0, in: []uint32{unix.AF_INET, unix.AF_INET6}},
		{arg: 1, mask: SocketType, in: []uint32{unix.SOCK_STREAM, unix.SOCK_DGRAM}},
		{arg: 2, in: []uint32{0, unix.IPPROTO_TCP, unix.IPPROTO_UDP, unix.IPPROTO_ICMP, unix.IPPROTO_ICMPV6, unix.IPPROTO_MPTCP, unix.IPPROTO_UDPLITE}},
	}, do: allow,
		why: "the network as ordinary programs use it, ping sockets included: the host's, or the session's own; raw packets stay refused"},
	{calls: []string{"socket"}, only: inetAllowed, when: []test{
		{arg: 0, in: []uint32{unix.AF_NETLINK}},
		{arg: 1, mask: SocketType, in: []uint32{unix.SOCK_RAW, unix.SOCK_DGRAM}},
		{arg: 2, in: []uint32{unix.NETLINK_ROUTE}},
	}, do: allow,
		why: "getaddrinfo and getifaddrs list the machine's addresses this way; changing them takes a capability"},
	{calls: []string{"socket"}, only: inetAsked, when: []test{
		{arg: 0, in: []uint32{unix.AF_INET, unix.AF_INET6}},
		{arg: 1, mask: SocketType, in: []uint32{unix.SOCK_STREAM}},
		{arg: 2, in: []uint32{0, unix.IPPROTO_TCP}},
	}, do: allow,
		why: "in codeagent's own network: the broker connects it. Landlock refuses the command's own TCP connections (ABI 4)"},
	{calls: []string{"socket"}, only: inetAsked, when: []test{
		{arg: 0, in: []uint32{unix.AF_INET, unix.AF_INET6}},
		{arg: 1, mask: SocketType, in: []uint32{unix.SOCK_DGRAM}},
		{arg: 2, in: []uint32{0, unix.IPPROTO_UDP}},
	}, do: allow,
		why: "the same: a datagram gets an address from connect or from a message, and the broker makes both"},
	{calls: []string{"socket"}, only: inetAsked, when: []test{
		{arg: 0, in: []uint32{unix.AF_NETLINK}},
		{arg: 1, mask: SocketType, in: []uint32{unix.SOCK_RAW, unix.SOCK_DGRAM}},
		{arg: 2, in: []uint32{unix.NETLINK_ROUTE}},
	}, do: allow,
		why: "getifaddrs: node refuses to use even the loopback without it"},
	{calls: []string{"socket"}, only: inetAsked, when: []test{
		{arg: 0, in: []uint32{unix.AF_INET, unix.AF_INET6}},
		{arg: 1, mask: SocketType, in: []uint32{unix.SOCK_STREAM}},
		{arg: 2, in: []uint32{unix.IPPROTO_MPTCP}},
	}, do: eprotonosupport,
		why: "Landlock does not know its connections; programs fall back to TCP"},
	{calls: []string{"socket"}, when: []test{
		{arg: 0, in: []uint32{unix.AF_UNIX}},
		{arg: 1, mask: SocketType, in: []uint32{unix.SOCK_RAW}},
	}, do: eperm,
		why: "a datagram socket by a name that no program uses. The self-test does: the broker does not answer yet"},
	{calls: []string{"socket"}, only: filesAsked, do: ask,
		why: "refused like those below, whatever the family; the broker records it"},
	{calls: []string{"socket"}, when: []test{{arg: 0, in: []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK, unix.AF_PACKET}}}, do: eperm,
		why: "no network, and docker.sock, D-Bus, ssh-agent and X11 are ways out. EPERM, not EACCES: \"Permission denied\" reads like a wrong password or file mode"},
	{calls: []string{"socket"}, do: eafnosupport,
		why: "vsock, AF_ALG, bluetooth, CAN, TIPC, XDP, what comes later: as on a kernel without them, so that programs fall back"},
	{calls: []string{"socketpair"}, when: []test{
		{arg: 0, in: []uint32{unix.AF_UNIX}},
		{arg: 1, mask: SocketType, in: []uint32{unix.SOCK_STREAM, unix.SOCK_SEQPACKET}},
	}, do: allow,
		why: "joined to each other for life: they can be connected to nothing else. Pipelines, asyncio and node live on them"},
	{calls: []string{"socketpair"}, only: filesAsked, do: ask,
		why: "refused as below; the broker records it"},
	{calls: []string{"socketpair"}, do: eperm,
		why: "one end of a datagram pair (SOCK_RAW is its other name) can send to any socket with a path"},

	{calls: []string{"connect", "bind"}, only: unixAllowed, do: ask,
		why: "the address lies in memory: only the broker can say which socket it means, and reach it before it changes"},
	{calls: []string{"getsockname", "getpeername"}, only: unixAllowed, do: ask,
		why: "what the broker bound has another address in the kernel than the one the command gave"},
	{calls: []string{"sendto"}, only: inetAsked, when: []test{{arg: 3, mask: unix.MSG_FASTOPEN, in: []uint32{0}, not: true}}, do: eopnotsupp,
		why: "TCP Fast Open connects while sending; programs fall back to connect"},
	{calls: []string{"recvfrom"}, only: inetAsked, when: []test{{arg: 4, in: []uint32{0}, not: true, wide: true}}, do: ask,
		why: "libraries compare the sender of a name server's answer with the server's address, which codeagent answers for"},
	{calls: []string{"recvmsg", "recvmmsg"}, only: inetAsked, do: ask,
		why: "the same"},
	{calls: []string{"setsockopt"}, only: inetAsked, when: []test{
		{arg: 1, in: []uint32{unix.IPPROTO_TCP}}, {arg: 2, in: []uint32{unix.TCP_FASTOPEN_CONNECT, unix.TCP_ULP}},
	}, do: enoprotoopt,
		why: "a connect would only note the address, and another server may be there when the first bytes leave; another protocol over TCP is not judged"},
	{calls: []string{"setsockopt"}, only: inetAsked, when: []test{
		{arg: 1, in: []uint32{unix.IPPROTO_UDP}}, {arg: 2, in: []uint32{unix.UDP_CORK, unix.UDP_ENCAP}},
	}, do: enoprotoopt,
		why: "what is held back leaves later, when its receiver may have been revoked; encapsulated packets have two addresses"},
	{calls: []string{"setsockopt"}, only: inetAsked, when: []test{
		{arg: 1, in: []uint32{unix.SOL_SOCKET}}, {arg: 2, in: []uint32{unix.SO_BINDTODEVICE, unix.SO_BINDTOIFINDEX}},
	}, do: eperm,
		why: "a packet for the loopback would leave by another device"},
	{calls: []string{"setsockopt"}, only: inetAsked, when: []test{
		{arg: 1, in: []uint32{unix.SOL_SOCKET}}, {arg: 2, in: []uint32{unix.SO_REUSEPORT}},
	}, do: success,
		why: "a server of the host could share a port with the command's, and the kernel chooses between them for each connection, after the broker has judged it"},
	{calls: []string{"setsockopt"}, only: sendsAsked, when: []test{
		{arg: 1, in: []uint32{unix.SOL_SOCKET}}, {arg: 2, in: []uint32{soPassPIDFD}},
	}, do: eperm,
		why: "the sender of a message would be codeagent, with a descriptor of its process"},
	{calls: []string{"setsockopt"}, only: sendsAsked, when: lingers, do: ask,
		why: "whoever closes a socket last waits for its data, and that may be codeagent with its copy: it sets no time but 0"},
	{calls: []string{"setsockopt"}, only: inetAsked, when: []test{
		{arg: 1, in: []uint32{unix.IPPROTO_IP}}, {arg: 2, in: harmlessIP, not: true},
	}, do: enoprotoopt,
		why: "a source route sends packets elsewhere than to their address, and joining a group tells the network its number"},
	{calls: []string{"setsockopt"}, only: inetAsked, when: []test{
		{arg: 1, in: []uint32{unix.IPPROTO_IPV6}}, {arg: 2, in: harmlessIPv6, not: true},
	}, do: enoprotoopt,
		why: "the same"},
	{calls: []string{"listen"}, only: sendsAsked, do: ask,
		why: "a port that a job serves can be published: only the broker can say which socket listens, and for whom. In codeagent's own network a socket without an address would get one that other machines reach"},
	{calls: []string{"sendto"}, only: sendsAsked, when: []test{{arg: 4, in: []uint32{0}, not: true, wide: true}}, do: ask,
		why: "the broker sends it; without an address a message goes where the socket is connected"},
	{calls: []string{"sendmsg", "sendmmsg"}, only: sendsAsked, do: ask,
		why: "the same; the receiver lies in memory"},

	// Here a command can get a socket only as descriptor 0, 1 or 2, from outside the sandbox.
	{calls: []string{"connect", "bind", "listen", "accept", "accept4"}, only: noSockets, do: eperm,
		why: "a socket handed in as standard input or output stays what it is; pairs need none of these"},
	{calls: []string{"sendto"}, only: inetDenied, when: []test{{arg: 4, in: []uint32{0}, not: true, wide: true}}, do: eperm,
		why: "a datagram to an address; without an address it is send(2), which pairs need"},
	{calls: []string{"sendto"}, only: inetDenied, when: []test{{arg: 3, mask: unix.MSG_FASTOPEN, in: []uint32{0}, not: true}}, do: eperm,
		why: "TCP Fast Open connects while sending"},
	{calls: []string{"sendmsg"}, only: inetDenied, when: []test{{arg: 2, mask: unix.MSG_FASTOPEN, in: []uint32{0}, not: true}}, do: eperm,
		why: "the same; an address in the message cannot be seen here"},
	{calls: []string{"sendmmsg"}, only: inetDenied, when: []test{{arg: 3, mask: unix.MSG_FASTOPEN, in: []uint32{0}, not: true}}, do: eperm,
		why: "the same"},
}

// These are missing in x/sys; they come from the kernel's headers (include/uapi/linux).
const (
	soPassPIDFD      = 76   // asm-generic/socket.h, Linux 6.5
	ioprioWhoProcess = 1    // ioprio.h
	linuxFcntl       = 1024 // fcntl.h, F_LINUX_SPECIFIC_BASE
	fDupfdQuery      = linuxFcntl + 3
	fCreatedQuery    = linuxFcntl + 4
	perLinux32       = 0x8        // personality.h, PER_LINUX32
	uname26          = 0x20000    // personality.h, UNAME26
	perQuery         = 0xffffffff // personality(2): changes nothing

	kdskbent     = 0x4b47 // kd.h
	kdskbsent    = 0x4b49
	kdskbdiacr   = 0x4b4b
	kdskbdiacruc = 0x4bfb
	kdsetkeycode = 0x4b4d
	kdfontop     = 0x4b72
	vtResize     = 0x5609 // vt.h
	vtResizex    = 0x560a

	fsIocFiemap           = 0xc020660b // fs.h
	fsIocFsgetxattr       = 0x801c581f
	fsIocGetfslabel       = 0x81009431
	fsIocSetversion       = 0x40087602
	xfsIocDioinfo         = 0x800c581e // xfs_fs.h
	fatIoctlSetAttributes = 0x40047211 // msdos_fs.h
	userfaultfdIocNew     = 0xaa00     // userfaultfd.h

	btrfsIocInoLookup      = 0xd0009412 // btrfs.h
	btrfsIocSubvolGetflags = 0x80089419
	btrfsIocFsInfo         = 0x8400941f
	btrfsIocGetSubvolInfo  = 0x81f8943c
	btrfsIocInoLookupUser  = 0xd000943e
)
