package providers

import (
	"context"
	"sync"
	"time"

	"codeagent/model"
)

// priceTime bounds how long the end of an answer waits for the provider's list, which is asked for when
// the first request is sent.
const priceTime = time.Second

// prices says what answers of one provider cost. The prices of the settings go before those of the
// provider's list.
type prices struct {
	client
	own func(name string) model.Price
	// local: the server is on this machine, and bills nothing.
	local bool
	// sized: the settings say what the context of a model is.
	sized func(name string) bool
	once  sync.Once
	asked chan struct{} // closed when the list was read, or could not be
}

// ask begins to read the provider's list, once, where the settings have no price or context of a model.
func (p *prices) ask(ctx context.Context, name string) {
	if _, read := p.Listing(name); read || p.sized(name) && (p.local || p.own(name) != (model.Price{})) {
		return
	}
	p.once.Do(func() {
		go func() {
			defer close(p.asked)
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), listTime)
			defer cancel()
			_, _ = p.Models(ctx) // without a list there is no price
		}()
	})
}

// of returns the price of a model, after ask, and whether it is from the provider's list.
func (p *prices) of(ctx context.Context, name string, patience time.Duration) (price model.Price, listed bool) {
	if price = p.own(name); price != (model.Price{}) || p.local {
		return price, false
	}
	return p.listing(ctx, name, patience).Price, true
}

// listing returns what the list says of a model, after ask.
func (p *prices) listing(ctx context.Context, name string, patience time.Duration) model.Listing {
	l, read := p.Listing(name)
	if !read {
		select {
		case <-p.asked:
		case <-ctx.Done():
		case <-time.After(patience):
		}
		l, _ = p.Listing(name)
	}
	return l
}

func (p *prices) cost(ctx context.Context, name string, u model.Usage) model.Cost {
	switch price, listed := p.of(ctx, name, priceTime); {
	case price == model.Price{}:
		return model.Cost{Unpriced: u.Input + u.Output}
	case listed:
		return model.Cost{USD: price.Of(u)}
	default:
		return model.Cost{Settings: price.Of(u)}
	}
}
