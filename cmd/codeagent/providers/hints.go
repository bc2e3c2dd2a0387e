package providers

import (
	"context"
	"crypto/tls"
	"errors"
	"iter"
	"slices"
	"strings"

	"codeagent/cmd/codeagent/cli"
	"codeagent/model"
	"codeagent/model/wire"
)

// hintClient is a client that says what to set when the provider rejects the key, or is not at
// that address. Every request to a provider goes through it: a turn on the screen or in exec,
// a list of models, doctor.
type hintClient struct {
	client
	prices       *prices
	key, address []string
	wire         string
}

func (h hintClient) Models(ctx context.Context) ([]string, error) {
	served, err := h.client.Models(ctx)
	return served, h.hinted(err, h.address)
}

func (h hintClient) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		h.prices.ask(ctx, r.Model)
		h.client.Stream(ctx, r)(func(d model.Delta, err error) bool {
			if f, ok := d.(model.Finished); ok {
				f.Usage.Cost = h.prices.cost(ctx, r.Model, f.Usage)
				if !h.prices.sized(r.Model) {
					f.Window = h.prices.listing(ctx, r.Model, 0).Window
				}
				d = f
			}
			if otherWire(err) {
				return yield(d, cli.Hinted(cli.ExitFailed, err, h.wire))
			}
			return yield(d, h.hinted(err, append(h.address[:len(h.address):len(h.address)], h.wire)))
		})
	}
}

// hinted returns err with hints; absent are the hints for an address where nothing answers.
func (h hintClient) hinted(err error, absent []string) error {
	switch {
	case notSignedIn(err):
		return cli.Hinted(cli.ExitSignIn, err, h.key...)
	case notThere(err) && len(absent) > 0:
		return cli.Hinted(cli.ExitFailed, err, absent...)
	case noModel(err):
		return cli.Hinted(cli.ExitFailed, err, "name another: --model NAME, or choose one of the provider's list with /model")
	}
	var badCert *tls.CertificateVerificationError
	var notTLS tls.RecordHeaderError
	var failed *model.Error
	switch {
	case errors.As(err, &badCert):
		return cli.Hinted(cli.ExitFailed, err, "check the address; a certificate of your own authority is trusted if SSL_CERT_FILE names its file")
	case errors.As(err, &notTLS):
		return cli.Hinted(cli.ExitFailed, err, "where the server has no TLS the address begins with http://")
	}
	if errors.As(err, &failed) && advice[failed.Kind] != "" {
		return cli.Hinted(cli.ExitFailed, err, advice[failed.Kind])
	}
	return err
}

// advice says what to do about errors that no setting of the provider explains.
var advice = map[model.ErrorKind]string{
	model.RateLimited: "wait and send it again, or use another model; retry.patience_s says how long codeagent tries (codeagent help config)",
	model.NoQuota:     "add credit to the account, or use another model",
	model.ContextFull: "begin a new session, use a model that takes more, or set models.NAME.context to what this one takes (codeagent help config)",
	model.Transport:   "check the network and the address; codeagent doctor tries the model",
	model.ServerFault: "the fault is the provider's: send it again later, or use another model",
}

// otherWire reports whether the server answers as another API does, or says that the model
// is served over another one.
func otherWire(err error) bool {
	var refused *model.Error
	if errors.Is(err, wire.ErrOtherWire) {
		return true
	}
	if !errors.As(err, &refused) || refused.Kind != model.BadRequest {
		return false
	}
	return slices.ContainsFunc([]string{"v1/responses", "v1/chat/completions", "responses api", "chat completions api"}, func(api string) bool {
		return strings.Contains(strings.ToLower(refused.Message), api)
	})
}

// notSignedIn reports whether the key is missing, wrong, or may not use the model.
func notSignedIn(err error) bool {
	var refused *model.Error
	return errors.As(err, &refused) && refused.Kind == model.SignIn
}

// notThere reports whether the server has nothing at the requested path. An error about a
// model is not meant.
func notThere(err error) bool {
	var refused *model.Error
	return errors.As(err, &refused) && (refused.Status == 404 || refused.Status == 405) && !noModel(err)
}

// noModel reports whether the server does not have the model.
func noModel(err error) bool {
	var refused *model.Error
	return errors.As(err, &refused) && (refused.Status == 404 || refused.Status == 405) && strings.Contains(strings.ToLower(refused.Message), "model")
}
