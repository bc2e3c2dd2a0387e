package sandboxtest

import (
	"os"
	"os/signal"
	"syscall"
)

// HeedSignals gives the signals of a terminal their default action. Tests started in the background
// of a script, or by nohup, have some of them ignored, and every child would inherit that.
func HeedSignals() {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}
