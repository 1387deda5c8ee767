//go:build minio

package access_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/s3/miniotest"
)

// startMinIO runs a real MinIO server. Each role uses temporary keys with its policy (STS
// AssumeRole), of a user without rights of its own: a role without access to the store has invalid
// keys.
func startMinIO(t *testing.T, at access.Place, buckets ...string) objects {
	t.Helper()
	server := miniotest.Start(t)
	o := objects{endpoint: server.Endpoint}
	issued := map[string]credentials.Value{rootKey: {AccessKeyID: server.AccessKey, SecretAccessKey: server.SecretKey}}
	for _, role := range access.Roles() {
		policy, err := role.Policy(at)
		if err != nil {
			continue // it has no access to the store
		}
		text, err := json.Marshal(policy)
		if err != nil {
			t.Fatal(err)
		}
		assumed, err := credentials.NewSTSAssumeRole(server.Endpoint, credentials.STSAssumeRoleOptions{
			AccessKey: server.AccessKey, SecretKey: server.SecretKey, Policy: string(text), DurationSeconds: 3600,
		})
		if err != nil {
			t.Fatal(err)
		}
		// MinIO answers a moment before it has read its users.
		for end := time.Now().Add(8 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
			issued[string(role)], err = assumed.GetWithContext(nil)
			if err == nil || !strings.Contains(err.Error(), "not initialized") || time.Now().After(end) {
				break
			}
		}
		if err != nil {
			t.Fatalf("MinIO does not take the policy of %s: %v\n%s", role, err, text)
		}
	}
	o.keys = func(user, secret string) credentials.Value {
		key, known := issued[user]
		switch {
		case !known:
			return credentials.Value{AccessKeyID: user, SecretAccessKey: secret}
		case secret != secretOf(user) && user != rootKey:
			key.SecretAccessKey = secret
		}
		return key
	}
	root := o.as(t, rootKey, rootSecret)
	for _, bucket := range buckets {
		if err := root.EnsureBucket(t.Context(), bucket); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

func TestMinIOHoldsEachRoleToItsPolicy(t *testing.T) {
	store := startMinIO(t, place, "models", "uploads")
	t.Run("what is another's", func(t *testing.T) { tryPolicies(t, store) })
	t.Run("ways around", func(t *testing.T) { tryBypasses(t, store) })
	t.Run("a whole run", func(t *testing.T) {
		if err := storage.Probe(t.Context(), store.as(t, "worker", secretOf("worker")), place.Root); err != nil {
			t.Fatal(err)
		}
		walk(t, store)
	})
}
