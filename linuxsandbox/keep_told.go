//go:build linux

package linuxsandbox

const (
	// maxTold and maxToldBytes bound how many paths are remembered, and how long they
	// are: a command chooses both.
	maxTold      = 1 << 16
	maxToldBytes = 8 << 20
)

// toldPaths are the paths that a change observer was told of, those of folders told as "." with
// "/." behind them. Beyond the bounds it forgets all: then they are told once more.
type toldPaths struct {
	paths map[string]struct{}
	bytes int
}

func (t *toldPaths) has(path string) bool {
	_, ok := t.paths[path]
	return ok
}

func (t *toldPaths) add(path string) {
	if t.has(path) {
		return
	}
	if t.paths == nil || len(t.paths) >= maxTold || t.bytes+len(path) > maxToldBytes {
		*t = toldPaths{paths: map[string]struct{}{}}
	}
	t.paths[path] = struct{}{}
	t.bytes += len(path)
}
