package exec

import (
	"errors"
	"net/netip"
	"slices"

	"codeagent/sandbox"
)

// mostHeard bounds the ports of a command that its job is asked about.
const mostHeard = 32

// Port is a port of a job, and the host's address at which it is served.
type Port struct {
	Job    int
	Number uint16
	At     netip.AddrPort
	stop   func()
}

// listens takes a port on which the command begins to listen, and never waits. A command in the
// foreground is asked about when it becomes a job.
func (j *Job) listens(l sandbox.Listener) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.about.Listens == nil || len(j.heard) >= mostHeard {
		return
	}
	if j.heard = append(j.heard, l); j.back == nil {
		j.hear(l)
	}
}

// hear passes a port on; mu is held. The goroutine ends with what Listens does, at the latest when the
// job's context ends.
func (j *Job) hear(l sandbox.Listener) {
	j.hearing++
	go func() {
		j.about.Listens(j.ctx, j, l)
		j.mu.Lock()
		defer j.mu.Unlock()
		j.hearing--
		j.announce()
	}()
}

// Publish serves a port of the job at host, an address of the host's loopback, until Unpublish or the
// job's end. A port that is served already keeps its address.
func (j *Job) Publish(l sandbox.Listener, host netip.Addr) (netip.AddrPort, error) {
	defer j.tell() // once mu is free
	j.mu.Lock()
	defer j.mu.Unlock()
	if i := slices.IndexFunc(j.ports, func(p Port) bool { return p.Number == l.Port }); i >= 0 {
		return j.ports[i].At, nil
	}
	if j.ended {
		return netip.AddrPort{}, ErrEnded
	}
	if l.Publish == nil {
		return netip.AddrPort{}, errors.New("this sandbox cannot publish a port")
	}
	at, stop, err := l.Publish(host)
	if err == nil {
		j.ports = append(j.ports, Port{j.id, l.Port, at, stop})
	}
	return at, err
}

// Ports lists the published ports of the running jobs.
func (l *Jobs) Ports() (out []Port) {
	for _, j := range l.jobs() {
		j.mu.Lock()
		if !j.ended {
			out = append(out, j.ports...)
		}
		j.mu.Unlock()
	}
	return out
}

// Unpublish ends what serves a port of any job, and its connections. It reports how many there were.
func (l *Jobs) Unpublish(port uint16) (ended int) {
	for _, j := range l.jobs() {
		j.mu.Lock()
		for _, p := range j.ports {
			if p.Number == port {
				p.stop()
				ended++
			}
		}
		j.ports = slices.DeleteFunc(j.ports, func(p Port) bool { return p.Number == port })
		j.mu.Unlock()
	}
	l.tell()
	return ended
}
