package workspace

import (
	"fmt"
	"strings"
	"sync"

	"codeagent/config"
	"codeagent/exec"
	"codeagent/linuxsandbox"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
)

// others are the backends to which rules send commands, by name. Each is made once.
type others struct {
	mu      sync.Mutex
	runners map[string]*exec.Runner
	made    []*linuxsandbox.Backend
}

// In returns the runner of commands that a rule sends to the backend with that name. It shares with Runner all but the
// backend. weak are the weaknesses that the session's backend has not, at the first call with that name.
func (ws *Workspace) In(name string) (r *exec.Runner, weak []string, err error) {
	ws.others.mu.Lock()
	defer ws.others.mu.Unlock()
	if r = ws.others.runners[name]; r != nil {
		return r, nil, nil
	}
	of, made, err := ws.another(name)
	switch {
	case err != nil:
		return nil, nil, err
	case made != nil:
		r = ws.Runner.In(made)
	default:
		r = ws.Runner.In(of(ws.used))
	}
	if weak, err = ws.Weaker(r, ws.Runner, ws.Policy); err != nil {
		if made != nil {
			_ = made.Close()
		}
		return nil, nil, err
	}
	if made != nil {
		ws.others.made = append(ws.others.made, made)
	}
	if ws.others.runners == nil {
		ws.others.runners = map[string]*exec.Runner{}
	}
	ws.others.runners[name] = r
	return r, weak, nil
}

// another is the backend with that name beside that of the session: made, or what of makes in a sandbox of the system.
func (ws *Workspace) another(name string) (of func(system resolved.Backend) resolved.Backend, made *linuxsandbox.Backend, err error) {
	kind, err := ws.Config.BackendKind(name)
	switch {
	case err != nil:
	case ws.Draft != nil:
		err = fmt.Errorf("the session works on a draft, and the backend %s would not", name)
	case kind == config.Native && (ws.native || ws.modules != nil):
		of = asSystem
	case ws.linux == nil:
		err = fmt.Errorf("the backend %s beside that of the session takes Linux", name)
	case kind == config.Wasm:
		of, err = ws.onlyModules()
	default:
		made, err = ws.ready(name)
	}
	return of, made, err
}

// close ends what was made.
func (o *others) close() (err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, made := range o.made {
		if left := made.Close(); left != nil {
			err = left
		}
	}
	return err
}

// madeGit lists the git directories that commands made there and in the session's own backend.
func (o *others) madeGit(own *linuxsandbox.Backend) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	dirs := own.MadeGit()
	for _, made := range o.made {
		dirs = append(dirs, made.MadeGit()...)
	}
	return dirs
}

// Weaker returns the IDs of what the backend of r does not enforce for p, and that of usual would. The error says what
// it cannot do at all, or which layer is missing that sandbox.required_layers names.
func (ws *Workspace) Weaker(r, usual *exec.Runner, p sandbox.Policy) (ids []string, err error) {
	e, err := r.Enforcement(p)
	if err != nil {
		return nil, err
	}
	if missing := ws.Config.Sandbox.MissingLayers(e); len(missing) > 0 {
		return nil, fmt.Errorf("sandbox.required_layers: not active there: %s", strings.Join(missing, ", "))
	}
	was, _ := usual.Enforcement(p)
	for _, w := range e.Weaknesses {
		if !was.Weak(w.ID) {
			ids = append(ids, w.ID)
		}
	}
	return ids, nil
}
