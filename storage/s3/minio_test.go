//go:build minio

package s3_test

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/s3"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// TestMinIO runs the suite on a real MinIO server, which is built from source the first time: some 15 minutes on two cores.
func TestMinIO(t *testing.T) {
	server, err := startMinIO(t.Context(), t.TempDir(), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.close(); err != nil {
			t.Error(err)
		}
	})
	cfg := s3.Config{Endpoint: server.endpoint, AccessKey: server.accessKey, SecretKey: server.secretKey}
	t.Run("suite", func(t *testing.T) {
		storagetest.Run(t, func(t *testing.T) storagetest.Subject {
			root := storage.Ref{Bucket: "test-" + strings.ToLower(rand.Text())}
			if err := open(t, cfg).EnsureBucket(t.Context(), root.Bucket); err != nil {
				t.Fatal(err)
			}
			return subject(t, cfg, root)
		})
	})
}
