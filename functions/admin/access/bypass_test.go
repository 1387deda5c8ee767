package access_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/storage"
)

// Ways around a policy: requests that Stoker's programs never send, but that a client with a role's
// key could.
func TestWaysAroundAPolicyAreRefused(t *testing.T) {
	t.Parallel()
	tryBypasses(t, startObjects(t, place, "models", "uploads"))
}

// tryBypasses makes upstream and the console try to access a committed model, another tenant's
// objects, and further rights.
func tryBypasses(t *testing.T, store objects) {
	t.Helper()
	root := store.as(t, rootKey, rootSecret)
	for _, ref := range []storage.Ref{place.Root.Join("m"), {Bucket: "models", Key: "zeta/m"}, place.Inputs[0].Join("u"), {Bucket: "uploads", Key: "zeta/u"}} {
		if err := put(t.Context(), root, ref); err != nil {
			t.Fatal(err)
		}
	}
	for _, role := range []access.Role{access.Upstream, access.Console} {
		client, through := store.tool(t, string(role))
		for name, try := range bypasses(t, client, through) {
			if err := try(); err == nil || !denied(err) {
				t.Errorf("%s, %s: got %v, want that it is refused", role, name, err)
			}
		}
	}
	for _, ref := range []storage.Ref{place.Root.Join("m"), place.Inputs[0].Join("u")} {
		if _, err := root.Stat(t.Context(), ref); err != nil {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

func bypasses(t *testing.T, client minio.Core, through *http.Client) map[string]func() error {
	ctx := t.Context()
	copied := func(from, key, to string) func() error {
		return func() error {
			_, err := client.Client.CopyObject(ctx, minio.CopyDestOptions{Bucket: to, Object: "acme/copy"}, minio.CopySrcOptions{Bucket: from, Object: key})
			return err
		}
	}
	return map[string]func() error{
		"copy another's upload":     copied("uploads", "zeta/u", "uploads"),
		"copy another's model":      copied("models", "zeta/m", "uploads"),
		"copy over the artifacts":   copied("uploads", "acme/u", "models"),
		"remove a model, of many":   func() error { return removeMany(t, client, "models", "acme/m") },
		"remove an upload, of many": func() error { return removeMany(t, client, "uploads", "acme/u") },
		"write a model in parts": func() error {
			_, err := client.NewMultipartUpload(ctx, "models", "acme/m", minio.PutObjectOptions{})
			return err
		},
		"write another's upload in parts": func() error {
			_, err := client.NewMultipartUpload(ctx, "uploads", "zeta/u", minio.PutObjectOptions{})
			return err
		},
		"list what begins like the prefix": func() error { _, err := client.ListObjectsV2("uploads", "ac", "", "", "", 10); return err },
		"list another's":                   func() error { _, err := client.ListObjectsV2("models", "zeta/", "", "", "", 10); return err },
		"read with an address of one's own": func() error {
			address, err := client.PresignedGetObject(ctx, "models", "zeta/m", time.Minute, nil)
			if err != nil {
				return err
			}
			answer, err := through.Get(address.String())
			if err != nil {
				return err
			}
			defer answer.Body.Close()
			if answer.StatusCode != http.StatusOK {
				return fmt.Errorf("status %d", answer.StatusCode)
			}
			return nil
		},
		"change the bucket's policy": func() error {
			return client.SetBucketPolicy(ctx, "models", `{"Version": "2012-10-17", "Statement": []}`)
		},
		"remove the bucket": func() error { return client.RemoveBucket(ctx, "uploads") },
		"make a bucket":     func() error { return client.MakeBucket(ctx, "mine", minio.MakeBucketOptions{}) },
	}
}

// removeMany requests the removal of several objects at once, which servers answer by object.
func removeMany(t *testing.T, client minio.Core, bucket, key string) error {
	objects := make(chan minio.ObjectInfo, 1)
	objects <- minio.ObjectInfo{Key: key}
	close(objects)
	for failed := range client.RemoveObjects(t.Context(), bucket, objects, minio.RemoveObjectsOptions{}) {
		return failed.Err
	}
	return nil
}

func denied(err error) bool {
	code := minio.ToErrorResponse(err).Code
	return code == "AccessDenied" || strings.Contains(err.Error(), "status 403")
}

// tool returns a client that sends arbitrary requests.
func (o objects) tool(t *testing.T, user string) (minio.Core, *http.Client) {
	t.Helper()
	key, transport := o.credentials(user, secretOf(user)), http.RoundTripper(http.DefaultTransport)
	if o.ca != "" {
		transport, _ = o.transport(t)
	}
	host, secure := strings.CutPrefix(o.endpoint, "https://")
	client, err := minio.New(strings.TrimPrefix(host, "http://"), &minio.Options{
		Creds: credentials.NewStaticV4(key.AccessKeyID, key.SecretAccessKey, key.SessionToken), Secure: secure, Transport: transport, Region: "us-east-1", MaxRetries: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	return minio.Core{Client: client}, &http.Client{Transport: transport, Timeout: 2 * time.Minute}
}
