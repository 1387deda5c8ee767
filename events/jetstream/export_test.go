package jetstream

import (
	"context"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// EnsureAs is EnsureStreams with another definition file than the embedded one.
func EnsureAs(ctx context.Context, js jetstream.JetStream, file []byte, opts Options) error {
	defined, err := definitions(file)
	if err != nil {
		return err
	}
	_, err = defined.ensure(ctx, js, opts.withDefaults())
	return err
}

// DefinitionOf reads another definition file.
func DefinitionOf(file []byte) (Definition, error) { return definitions(file) }

// Flush waits until the server has read what was sent.
func (b *Bus) Flush(ctx context.Context) error { return b.flush(ctx) }

// Connection returns the connection to NATS.
func (b *Bus) Connection() *nats.Conn { return b.nc }
