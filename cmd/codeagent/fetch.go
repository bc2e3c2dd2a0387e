package main

import (
	"codeagent/egress"
	"codeagent/tools"
)

// fetcher is what gets pages for fetch_url: codeagent itself, outside every
// sandbox, under the policy that the gate permits.
func fetcher() tools.Fetcher { return egress.New(egress.Options{Version: version}) }
