// Package wire is what the model adapters share: an HTTP transport that repairs event
// streams and turns every failure into a typed *model.Error, the memory of what a provider
// has refused, and the retry policy around a streamed answer. It may reach the network, and
// imports only model. Start reading at Endpoint.
//
//	http.Client -> transport -> provider
//	                  |  gzip is undone
//	                  |  status >= 300, a web page, an error event, an event too
//	                  |  large, silence: *model.Error
//	                  v
//	            a body of "data: JSON\n\n" lines and nothing else
//	                  v
//	            the adapter's decoder
//	                  v
//	            Learned.Ask: once more without what the provider refused
//	                  v
//	            one attempt of Retry.Stream
package wire
