package storage_test

import (
	"bytes"
	"context"

	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// careless ignores the condition of a write, as S3 servers did before they supported conditional
// writes.
type careless struct{ *storagetest.Memory }

func (careless) String() string { return "the careless store" }

func (c careless) PutIf(ctx context.Context, ref storage.Ref, body []byte, _ storage.Condition) (storage.Object, error) {
	return c.Put(ctx, ref, bytes.NewReader(body), int64(len(body)))
}
