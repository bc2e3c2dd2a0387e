//go:build linux

package linuxsandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"codeagent/hostfile"
)

// scopePath is where systemd-run and cat are looked for.
const scopePath = "/usr/bin:/bin"

// scopePatience is how long a service manager may take to make a scope.
const scopePatience = 5 * time.Second

// managers is the folder of root's service manager, of systemd, or the socket of the user's.
func managers() string {
	if asRoot() {
		return "/run/systemd/system"
	}
	return "/run/user/" + strconv.Itoa(os.Getuid()) + "/systemd/private"
}

// startScope starts a process that only waits, in a scope that systemd delegates to this user: for root the system's
// manager makes it, else the user's own. systemd-run asks for the scope with itself in it, and then executes cat, so cat's
// answer shows that the scope is there. The scope ends with cat, and cat with codeagent.
func startScope(path, manager string) (pid int, end func(), err error) {
	if _, err := hostfile.Seen(manager); err != nil {
		return 0, nil, errors.New("systemd does not run here, or not for this user")
	}
	args, env := []string{"--scope", "--quiet", "--collect", "--description=commands of codeagent", "--property=Delegate=yes", "--", "cat"}, []string{"PATH=" + path}
	if !asRoot() {
		args, env = append([]string{"--user"}, args...), append(env, "XDG_RUNTIME_DIR=/run/user/"+strconv.Itoa(os.Getuid()))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd, err := hostfile.Ground{}.Command(ctx, env, "systemd-run", args...)
	if err != nil {
		cancel()
		return 0, nil, err
	}
	said := &bytes.Buffer{}
	cmd.Stderr, cmd.WaitDelay, cmd.SysProcAttr = said, time.Second, &syscall.SysProcAttr{Setsid: true} // no ^C of a terminal
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err = errors.Join(inErr, outErr); err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return 0, nil, err
	}
	late := time.AfterFunc(scopePatience, cancel)
	_, err = in.Write([]byte{'\n'})
	if err == nil {
		_, err = out.Read(make([]byte, 1))
	}
	if !late.Stop() && err == nil {
		err = ctx.Err()
	}
	end = func() { cancel(); _ = cmd.Wait() }
	if err != nil {
		end()
		return 0, nil, fmt.Errorf("systemd-run: %w: %s", err, strings.TrimSpace(said.String()))
	}
	return cmd.Process.Pid, end, nil
}

// Settled waits until it is known whether the commands of a session can be bounded together.
func (b *Backend) Settled() {
	if b.bound {
		b.groups.Open()
	}
}
