package storage_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// swept loses the folder below some of the first writes, as a store on a file system does while others remove what they wrote.
type swept struct {
	storage.Store
	times, writes int
	err           error
}

func (s *swept) PutIf(ctx context.Context, ref storage.Ref, body []byte, cond storage.Condition) (storage.Object, error) {
	if s.writes++; s.writes <= s.times {
		return storage.Object{}, s.err
	}
	return s.Store.PutIf(ctx, ref, body, cond)
}

func TestAProbeThatOthersDisturbIsTriedAgain(t *testing.T) {
	t.Parallel()
	isFolder := errors.New("Existing Object is a directory.")
	for _, c := range []struct {
		name  string
		times int
		err   error
		want  error
		tries int // writes that failed
	}{
		{"a folder that went away", 2, isFolder, nil, 2},
		{"for ever", 100, isFolder, isFolder, 5},
		{"denied", 100, storage.ErrDenied, storage.ErrDenied, 1},
		{"away", 100, storage.ErrUnavailable, storage.ErrUnavailable, 1},
	} {
		store := &swept{Store: storagetest.NewMemory(), times: c.times, err: c.err}
		err := storage.Probe(t.Context(), store, root)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
		if failed := min(store.writes, c.times); failed != c.tries {
			t.Errorf("%s: %d writes failed, want %d", c.name, failed, c.tries)
		}
	}
}
