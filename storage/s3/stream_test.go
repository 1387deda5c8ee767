package s3

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/storage"
)

func TestAStreamKnowsItsLength(t *testing.T) {
	t.Parallel()
	for size, want := range map[int64]error{5: nil, 6: io.ErrUnexpectedEOF, 4: errLonger} {
		s := &stream{ctx: t.Context(), body: io.NopCloser(strings.NewReader("hello")), left: size}
		_, err := io.Copy(io.Discard, s)
		if !errors.Is(err, want) {
			t.Errorf("size %d: got %v, want %v", size, err, want)
		}
		if size == 6 && !errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("size %d: %v is not worth a retry", size, err)
		}
	}
}

func TestAStreamEndsWithItsContextWhateverIsBuffered(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := &stream{ctx: ctx, body: io.NopCloser(strings.NewReader("hello")), left: 5}
	if _, err := io.Copy(io.Discard, s); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
