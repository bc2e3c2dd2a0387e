// Package scripted is a model server that plays a script. It serves Chat Completions and
// Responses over HTTP and server-sent events, on a loopback listener and nothing else;
// the built-in tour and the tests of everything that asks a model use it. Start reading
// at Start and Reply.
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
