// Command replaced stands for a program in the place of the sandbox helper: it leaves a trace.
package main

import "os"

// trace is the file to make, set by the linker.
var trace string

func main() { _ = os.WriteFile(trace, nil, 0o644) }
