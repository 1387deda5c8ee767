package train

import (
	"context"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
)

// Source gives batches. A batch is valid until the next call. The end is io.EOF.
type Source interface {
	Next(ctx context.Context) (nn.Batch, error)
}

// Skipper is a Source that can leave out batches faster than by reading them. Fewer batches than
// asked for are io.EOF.
type Skipper interface {
	Skip(ctx context.Context, batches int64) error
}

// Located is a Source that knows where the rows of its last batch come from: errors name their
// files and records then. Origins has one for each row, or none, and is valid until the next batch.
type Located interface {
	Origins() []example.Origin
}

// originsOf are those of the rows of s's last batch, none where they aren't known.
func originsOf(s Source) []example.Origin {
	if located, ok := s.(Located); ok {
		return located.Origins()
	}
	return nil
}

// skip leaves out batches, so that a resumed training reads on where it had been.
func skip(ctx context.Context, s Source, batches int) error {
	if batches == 0 {
		return nil
	}
	if s, ok := s.(Skipper); ok {
		return s.Skip(ctx, int64(batches))
	}
	for range batches {
		if _, err := s.Next(ctx); err != nil {
			return err
		}
	}
	return nil
}
