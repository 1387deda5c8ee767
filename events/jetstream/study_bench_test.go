package jetstream_test

import (
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/local/natsserver"
)

// One worker only appends to a study, as with no-op trials; and in between reads and finds nothing
// new.
func BenchmarkStudies(b *testing.B) {
	server, err := natsserver.Start(b.Context(), natsserver.Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = server.Close() })
	bus, err := jetstream.Connect(b.Context(), server.URL(), jetstream.Options{Create: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = bus.Close() })
	study, body := events.Study{Pipeline: "penguin", ID: "0af7"}, make([]byte, 500)
	var after uint64
	b.Run("append", func(b *testing.B) {
		for b.Loop() {
			if after, err = bus.AppendStudy(b.Context(), study, body, after); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read on", func(b *testing.B) {
		for b.Loop() {
			for _, err := range bus.ReadStudy(b.Context(), study, after, false) {
				b.Fatal(err) // there is nothing new
			}
		}
	})
}
