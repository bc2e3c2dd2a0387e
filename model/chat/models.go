package chat

import (
	"context"
	"time"

	"codeagent/model/wire"
)

// listTime is how long a provider may take to list its models.
const listTime = 5 * time.Second

// Models asks the provider which models it serves, in its own order. The error
// is a *model.Error.
func (c *Client) Models(ctx context.Context) ([]string, error) {
	if c.invalid != nil {
		return nil, c.invalid
	}
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	list, err := c.api.ListModels(ctx)
	if err != nil {
		return nil, wire.AsError(ctx, err)
	}
	names := make([]string, 0, len(list.Models))
	for _, m := range list.Models {
		names = append(names, m.ID)
	}
	return names, nil
}
