// Command probe is the module of the tests: probe.wasm COMMAND [ARG]... It prints "ok" where the attempt went through.
package main

import (
	"os"
	"strconv"
)

func main() {
	arg := func(n int) string { return os.Args[n] }
	number := func(n int) int { i, _ := strconv.Atoi(arg(n)); return i }
	var err error
	switch arg(1) {
	case "hello":
	case "write":
		err = os.WriteFile(arg(2), []byte("written\n"), 0o666)
	case "read":
		_, err = os.ReadFile(arg(2))
	case "move":
		err = os.Rename(arg(2), arg(3))
	case "loop":
		for i := 0; ; i++ {
			_ = i
		}
	case "grow":
		var kept [][]byte
		for range number(2) {
			kept = append(kept, make([]byte, 1<<20))
		}
		_ = kept
	case "files":
		for range number(2) {
			if _, err = os.Open(arg(3)); err != nil {
				break
			}
		}
	case "large":
		err = os.WriteFile(arg(2), make([]byte, number(3)), 0o666)
	case "exit":
		os.Exit(number(2))
	case "environ":
		os.Stdout.WriteString(os.Getenv(arg(2)) + "\n")
	}
	if err != nil {
		os.Stdout.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Stdout.WriteString("ok\n")
}
