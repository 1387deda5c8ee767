package jetstream

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/stoker-ml/stoker/events"
)

// Connect opens a bus on the server at address, with its own connection, which reconnects without
// limit.
func Connect(ctx context.Context, address string, opts Options) (*Bus, error) {
	nc, err := dial(address, opts)
	if err != nil {
		return nil, err
	}
	b, err := Open(ctx, nc, opts)
	if err != nil {
		nc.Close()
		return nil, err
	}
	b.owned = true
	return b, nil
}

func dial(address string, opts Options) (*nats.Conn, error) {
	options, err := connectOptions(opts)
	if err != nil {
		return nil, err
	}
	nc, err := nats.Connect(address, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", withoutSecrets(err))
	}
	return nc, nil
}

// pingInterval is how often a connection is checked. A server whose host has lost its network sends
// nothing: after two unanswered pings the client connects to another server of the cluster, within
// the length of a lease. The client's default takes minutes.
const pingInterval = 10 * time.Second

func connectOptions(opts Options) ([]nats.Option, error) {
	options := []nats.Option{
		nats.Name(cmp.Or(opts.Name, "stoker")),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.PingInterval(pingInterval), nats.MaxPingsOutstanding(2),
		// Otherwise a failed request is sent after the reconnect, when its caller may have lost its
		// lease.
		nats.ReconnectBufSize(-1),
		// nats.go's own handler prints; Open's logs
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}
	if opts.InboxPrefix != "" {
		options = append(options, nats.CustomInboxPrefix(opts.InboxPrefix))
	}
	if opts.Timeout > 0 {
		options = append(options, nats.Timeout(opts.Timeout))
	}
	options = append(options, opts.secured()...)
	return opts.identified(options)
}

// identified adds the credentials of the client.
func (o Options) identified(options []nats.Option) ([]nats.Option, error) {
	if o.User != "" {
		options = append(options, nats.UserInfo(o.User, o.Password))
	}
	if o.Token != "" {
		options = append(options, nats.Token(o.Token))
	}
	if o.Creds != "" {
		options = append(options, nats.UserCredentials(o.Creds))
	}
	if o.JWT != "" {
		options = append(options, nats.UserCredentialBytes([]byte(o.JWT)))
	}
	if o.Seed != "" {
		key, err := nkeyOption([]byte(strings.TrimSpace(o.Seed)))
		if err != nil {
			return nil, err
		}
		options = append(options, key)
	}
	if o.NKey != "" {
		key, err := nats.NkeyOptionFromSeed(o.NKey)
		if err != nil {
			return nil, fmt.Errorf("read nkey seed %s: %w", o.NKey, err)
		}
		options = append(options, key)
	}
	return options, nil
}

// nkeyOption is nats.NkeyOptionFromSeed for a seed that is not in a file. Its errors do not contain
// the seed.
func nkeyOption(seed []byte) (nats.Option, error) {
	public := ""
	pair, err := nkeys.FromSeed(seed)
	if err == nil {
		public, err = pair.PublicKey()
	}
	if err != nil || !nkeys.IsValidPublicUserKey(public) {
		return nil, errors.New("read nkey seed: expected the seed of a user, which starts with SU")
	}
	return nats.Nkey(public, pair.Sign), nil
}

// secured returns the options for TLS, if any are set.
func (o Options) secured() []nats.Option {
	var options []nats.Option
	if o.RootCA != "" {
		options = append(options, nats.RootCAs(o.RootCA))
	}
	switch {
	case o.Cert != "" && o.KeyText != "":
		// nats.ClientTLSConfig would drop RootCA
		options = append(options, func(to *nats.Options) error {
			to.Secure, to.TLSCertCB = true, func() (tls.Certificate, error) { return keyPair(o.Cert, o.KeyText) }
			return nil
		})
	case o.Cert != "":
		options = append(options, nats.ClientCert(o.Cert, o.Key))
	}
	if o.TLSFirst {
		options = append(options, nats.TLSHandshakeFirst())
	}
	return options
}

// keyPair reads a certificate whose key is not in a file.
func keyPair(file, key string) (tls.Certificate, error) {
	certificate, err := os.ReadFile(file)
	if err != nil {
		return tls.Certificate{}, err
	}
	pair, err := tls.X509KeyPair(certificate, []byte(key))
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("client certificate %s and its key: %w", file, err)
	}
	return pair, nil
}

// withoutSecrets removes the address, which may hold a password, from an error.
func withoutSecrets(err error) error {
	if bad, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("bad address: %w", bad.Err)
	}
	if errors.Is(err, nats.ErrAuthorization) {
		return fmt.Errorf("%w: %w", events.ErrRefused, err)
	}
	return err
}
