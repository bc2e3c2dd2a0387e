package doctor

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"codeagent/hostfile"
	"codeagent/sandbox"
)

// AppArmor gives programs without a profile no rights in a user namespace where this file contains 1 (Ubuntu 23.10 and
// later). A profile matches a program by its path. The helper runs from memory and has none: it keeps the profile of
// codeagent, which makes the namespaces.
const appArmorFile = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"

// describeAppArmor prints the profile that lets codeagent make user namespaces, if AppArmor is why they do not work. program
// is codeagent's path.
func describeAppArmor(ctx context.Context, w io.Writer, layers []sandbox.Layer, file, program string) {
	mounts := func(l sandbox.Layer) bool { return l.Name == "mountns" && l.State == sandbox.LayerActive }
	value, err := hostfile.Read(ctx, file, 16)
	if err != nil || strings.TrimSpace(string(value)) != "1" || slices.ContainsFunc(layers, mounts) {
		return
	}
	paragraph(w, "  AppArmor  ", "gives programs without a profile no rights in user namespaces here (kernel.apparmor_restrict_unprivileged_userns is 1). Where this is why "+
		"they are missing, let root write these lines to /etc/apparmor.d/codeagent, run apparmor_parser -r /etc/apparmor.d/codeagent, and start codeagent again:")
	if strings.ContainsAny(program, "\"\\*?[]{}^@,\n") {
		program = "/usr/local/bin/codeagent"
		paragraph(w, "            ", "The path of this codeagent has letters that mean patterns in a profile: move it to "+program+" first.")
	}
	fmt.Fprintf(w, "              abi <abi/4.0>,\n              profile codeagent \"%s\" flags=(unconfined) {\n                userns,\n              }\n", program)
	paragraph(w, "            ", "The helper needs none: it runs from memory, where no profile can match it, and keeps the one of codeagent.")
}
