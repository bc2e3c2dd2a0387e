package machine

import (
	"fmt"
	"net"
	"os/exec"
	"testing"
)

// IPv6 tries to serve on the loopback device over version 6.
func IPv6() Trial {
	return Trial{"IPv6 on the loopback device", func(testing.TB) error {
		l, err := net.Listen("tcp6", "[::1]:0")
		if err == nil {
			err = l.Close()
		}
		return err
	}}
}

// Program tries something by running a program of the system that asks the kernel for it. A missing
// program fails the test: the kernel may well be able to do it.
func Program(what, name string, args ...string) Trial {
	return Trial{what, func(t testing.TB) error {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(path, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %.200s", name, err, out)
		}
		return nil
	}}
}
