package seatbelt

// base is what every program needs to start and to read its own state, each line with its reason.
// It imports nothing: what the system's own profiles allow changes between releases.
const base = `(version 1)
(deny default)

; Children run under the same profile.
(allow process-exec)
(allow process-fork)
; A shell ends its jobs, a test runner its workers; nothing else is signalled.
(allow signal (target same-sandbox))
; ps and job control see the processes of this sandbox only.
(allow process-info* (target same-sandbox))

; The dynamic linker looks at the root folder's entry at every start.
(allow file-read-metadata (literal "/"))
; Output that is thrown away; only the device itself, nothing put in its place.
(allow file-write-data
  (require-all (literal "/dev/null") (vnode-type CHARACTER-DEVICE)))
(allow file-write-data
  (require-all (literal "/dev/zero") (vnode-type CHARACTER-DEVICE)))
; /dev/stdout and its like name files that the program already holds.
(allow file-write-data (literal "/dev/stdout") (literal "/dev/stderr") (subpath "/dev/fd"))
; Terminals that the command itself opens (expect, script, test suites). Those
; of the user have no extension and are not covered.
(allow pseudo-tty)
(allow file-read* file-write* file-ioctl (literal "/dev/ptmx"))
(allow file-read* file-write* file-ioctl
  (require-all (regex #"^/dev/ttys[0-9]+$") (extension "com.apple.sandbox.pty")))

; Number of processors, page size, versions: runtimes ask at start.
(allow sysctl-read
  (sysctl-name-prefix "hw.")
  (sysctl-name-prefix "machdep.cpu.")
  (sysctl-name "kern.argmax")
  (sysctl-name "kern.hostname")
  (sysctl-name "kern.maxfilesperproc")
  (sysctl-name "kern.maxproc")
  (sysctl-name "kern.ngroups")
  (sysctl-name "kern.osproductversion")
  (sysctl-name "kern.osrelease")
  (sysctl-name "kern.ostype")
  (sysctl-name "kern.osvariant_status")
  (sysctl-name "kern.osversion")
  (sysctl-name "kern.secure_kernel")
  (sysctl-name "kern.usrstack64")
  (sysctl-name "kern.version")
  (sysctl-name "sysctl.proc_cputype")
  (sysctl-name "vm.loadavg"))

; Names of users and groups (getpwuid, getgrgid, git's author).
(allow mach-lookup
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership"))
; Semaphores of Python's multiprocessing.
(allow ipc-posix-sem)
; Not opened, on purpose: Apple Events and Launch Services, which start programs
; outside; the pasteboard; the keychain; trustd and configd without a network.
`

// fullNetwork is what programs need to use the whole network.
const fullNetwork = `
; The whole network.
(allow network*)
(allow system-socket)
; Names (the resolver), certificates, and the network's configuration.
(allow mach-lookup
  (global-name "com.apple.SystemConfiguration.DNSConfiguration")
  (global-name "com.apple.SystemConfiguration.configd")
  (global-name "com.apple.networkd")
  (global-name "com.apple.ocspd")
  (global-name "com.apple.trustd.agent"))
(allow sysctl-read (sysctl-name-prefix "net.routetable"))
`
