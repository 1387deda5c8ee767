package storagetest_test

import (
	"testing"

	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, func(t *testing.T) storagetest.Subject {
		return storagetest.Subject{Store: storagetest.NewMemory("bucket"), Root: storage.Ref{Bucket: "bucket"}}
	})
}
