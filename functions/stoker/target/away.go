package target

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/storage"
)

// Away returns the error for a bus that does not answer, or refuses, with advice.
func (t Target) Away(err error) error {
	return exit.Unreachable(fmt.Errorf("bus: %w: %s", err, t.Help(err)))
}

// Help returns advice for a bus that does not answer, or refuses.
func (t Target) Help(err error) string {
	hint := hint(err, "--nats-ca FILE (NATS_CA)")
	switch {
	case hint != "":
		return hint
	case asksForCertificate(err):
		return "it requires a client certificate that it trusts: --nats-cert FILE and --nats-key FILE (NATS_CERT, NATS_KEY)"
	case t.IsLocal:
		return "the local stack of this data folder does not answer; start `" + t.up + "`"
	case errors.Is(err, events.ErrRefused):
		return "`stoker config` shows the credentials in use"
	}
	if scheme, _, _ := strings.Cut(t.BusName(), "://"); scheme == "http" || scheme == "https" {
		return "NATS has no http address: --nats nats://HOST:PORT"
	}
	return fmt.Sprintf("is %s right? `stoker config` shows where the setting comes from", t.BusName())
}

// StoreHelp returns advice for a store that does not answer, or refuses; "" for other errors.
func StoreHelp(err error) string {
	switch found := hint(err, "--s3-ca FILE (AWS_CA_BUNDLE)"); {
	case found != "":
		return found
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return "the server has no TLS: --s3 http://HOST:PORT"
	case errors.Is(err, storage.ErrDenied), errors.Is(err, storage.ErrUnavailable):
		return "`stoker config` shows the store and the credentials in use"
	}
	return ""
}

// WithStoreHelp adds that to an error of the store.
func WithStoreHelp(err error) error {
	if err == nil {
		return nil
	}
	help, code := StoreHelp(err), exit.Code(err)
	if help == "" || code != exit.Away && code != exit.Failed || strings.Contains(err.Error(), "`stoker config`") {
		return err
	}
	return exit.Unreachable(fmt.Errorf("%w: %s", err, help))
}
