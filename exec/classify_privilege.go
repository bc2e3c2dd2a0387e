package exec

import (
	"regexp"
	"sync"

	"codeagent/sandbox"
)

// privilegeShapes are the words of programs that become root when they start,
// and did not: the sandbox sets no_new_privs, and with it the kernel ignores
// set-user-id bits.
var privilegeShapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^sudo: The "no new privileges" flag is set|^sudo: effective uid is not 0|^sudo: \S+ must be owned by uid 0 and have the setuid bit set|^pkexec must be setuid root|^doas: not installed setuid`)
})

// privilege takes up a program that could not become another user. It reports
// whether the line says so.
func (j *judge) privilege(line string) bool {
	if !privilegeShapes().MatchString(line) {
		return false
	}
	program := programOf(line)
	if program == "" {
		program = "pkexec"
	}
	j.add(sandbox.Denial{Kind: sandbox.KindCapability, Operation: "set-user-id", Target: program, Program: program, Errno: "EPERM"})
	return true
}
