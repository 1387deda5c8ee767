//go:build minio

package s3_test

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/s3"
	"github.com/stoker-ml/stoker/storage/s3/miniotest"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// TestMinIO runs the suite on a real MinIO server.
func TestMinIO(t *testing.T) {
	server := miniotest.Start(t)
	cfg := s3.Config{Endpoint: server.Endpoint, AccessKey: server.AccessKey, SecretKey: server.SecretKey}
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
