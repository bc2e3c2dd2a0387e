package sandboxtest

import (
	"os"
	"os/signal"
	"syscall"
)

// HeedSignals lets what the tests start get the signals of a terminal. Tests that
// were themselves started in the background of a script, or by nohup, have some of
// them ignored, which every child would inherit.
func HeedSignals() {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}
