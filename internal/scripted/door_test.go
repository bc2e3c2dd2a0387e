package scripted_test

import (
	"io"
	"net"
	"testing"
	"time"

	"codeagent/internal/scripted"
)

func TestDoorGreetsAndCounts(t *testing.T) {
	t.Parallel()
	d, err := scripted.OpenDoor(t.Context(), "hello\n")
	if err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		c, err := net.Dial("tcp", d.Addr)
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(c)
		_ = c.Close()
		if err != nil || string(said) != "hello\n" || d.Knocks() != n+1 {
			t.Errorf("said %q, %v, %d knocks; want the greeting and %d", said, err, d.Knocks(), n+1)
		}
	}
	d.Close()
	if c, err := net.Dial("tcp", d.Addr); err == nil { // the port may be another's by now
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		if said, _ := io.ReadAll(c); string(said) == "hello\n" {
			t.Error("a closed door answers")
		}
		_ = c.Close()
	}
}
