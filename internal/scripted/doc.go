// Package scripted is a model server that plays a script: it speaks Chat
// Completions and Responses over real HTTP and server-sent events on a loopback listener.
// The built-in tour stands on it, and so do the tests of everything that talks
// to a model: what they prove is proved over the real wire.
//
//	srv, err := scripted.Start(ctx, scripted.Steps(
//		scripted.Reply{Text: "I look first.", Calls: []scripted.Call{{Name: "shell", Arguments: `{"command":"ls"}`}}},
//		scripted.Reply{Text: "Done."},
//	))
//	defer srv.Close()
//	// point the adapter at srv.URL
//
// A Reply can also misbehave the way real servers do; see Fault and Framing.
package scripted
