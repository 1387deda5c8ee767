package nodes_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/signer"

	"github.com/stoker-ml/stoker/infra/kubernetes/kube"
)

const (
	storeAddress = "s3.s3.svc:9000"
	bucket       = "stoker"
)

// storeKey is a key of the S3 server.
type storeKey struct{ id, secret string }

// administrator may do everything in the store. Pods have a key of their own, which can be
// replaced.
var administrator = storeKey{"stoker-root", "0123456789abcdef"}

func (k storeKey) client() (*minio.Client, error) {
	return minio.New(storeAddress, &minio.Options{Creds: credentials.NewStaticV4(k.id, k.secret, "")})
}

// values are those of a secret of the chart.
func (k storeKey) values() map[string]string {
	return map[string]string{"AWS_ACCESS_KEY_ID": k.id, "AWS_SECRET_ACCESS_KEY": k.secret}
}

// installStore starts the S3 server, and makes the bucket and a key of the workers.
func (i *installation) installStore(ctx context.Context) error {
	if err := makeSecret(ctx, "s3", "store-root", administrator.values()); err != nil {
		return err
	}
	if err := i.apply(ctx, "testdata/store.yaml", "s3"); err != nil {
		return err
	}
	client, err := administrator.client()
	if err != nil {
		return err
	}
	if err := kube.Poll(ctx, func() error { return client.MakeBucket(ctx, bucket, minio.MakeBucketOptions{}) }); err != nil {
		return err
	}
	i.store = storeKey{"acme-1", "fedcba9876543210"}
	if err := allow(ctx, i.store); err != nil {
		return err
	}
	return makeSecret(ctx, release, tenant+"-store", i.store.values())
}

// allow makes a key that may read and write the bucket, and nothing else, beside others that may.
func allow(ctx context.Context, key storeKey, others ...storeKey) error {
	account := struct {
		XMLName              xml.Name `xml:"Account"`
		Access, Secret, Role string
	}{Access: key.id, Secret: key.secret, Role: "user"}
	body, err := xml.Marshal(account)
	if err != nil {
		return err
	}
	if err := administer(ctx, "create-user", body); err != nil {
		return err
	}
	principals := []string{key.id}
	for _, other := range others {
		principals = append(principals, other.id)
	}
	policy, err := json.Marshal(map[string]any{"Version": "2012-10-17", "Statement": []any{map[string]any{
		"Effect": "Allow", "Principal": map[string]any{"AWS": principals}, "Action": "s3:*", "Resource": []string{"arn:aws:s3:::" + bucket, "arn:aws:s3:::" + bucket + "/*"},
	}}})
	if err != nil {
		return err
	}
	client, err := administrator.client()
	if err != nil {
		return err
	}
	return client.SetBucketPolicy(ctx, bucket, string(policy))
}

// revoke removes a key.
func revoke(ctx context.Context, key storeKey) error {
	return administer(ctx, "delete-user?access="+key.id, nil)
}

// administer sends a request to the administration of the S3 server, versitygw.
func administer(ctx context.Context, call string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPatch, "http://"+storeAddress+"/"+call, bytes.NewReader(body))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	request.Header.Set("X-Amz-Content-Sha256", hex.EncodeToString(sum[:]))
	answer, err := http.DefaultClient.Do(signer.SignV4(*request, administrator.id, administrator.secret, "", "us-east-1"))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode >= 300 {
		err = fmt.Errorf("%s: %s: %s", call, answer.Status, text)
	}
	return err
}

// The workers' key to the store is replaced while runs start and one trains: the new key is put
// into the secret, the pods that stay are restarted, and the old key is removed. A pod that still
// has it can't write any more; another one continues its training.
func TestTheKeyToTheStoreIsReplaced(t *testing.T) {
	pods := watchPods(t, release, workersOf("cpu"))
	older, newer := stoker.store, storeKey{"acme-2", "abcdef0123456789"}
	stoker.trains(t, pods, "revoked")
	const count = 20
	started, dir := make(chan error, 1), t.TempDir()
	go func() { started <- stoker.startAll(t.Context(), dir, "penguin", "revoked-", count, time.Second) }()
	time.Sleep(5 * time.Second)

	must(t, allow(t.Context(), newer, older))
	for key, value := range newer.values() {
		patchSecret(t, release, tenant+"-store", key, value)
	}
	restart(t, "stoker-console")
	restart(t, "stoker-train-warm-standing")
	must(t, revoke(t.Context(), older))
	stoker.store = newer

	must(t, <-started)
	stoker.wantEachTrainedOnce(t, "penguin", "revoked-", count)
	eventually(t, 5*time.Minute, "the run that trained has a model", func() bool { d, _ := stoker.show(t, "long/revoked"); return d.State == "trained" })
	stoker.wantResumed(t, "long/revoked", 1)
	t.Logf("%d runs, %d pods: %s", count+1, len(pods.all()), pods.ends())
	client, err := older.client()
	must(t, err)
	if _, err := client.BucketExists(t.Context(), bucket); err == nil || !strings.Contains(err.Error(), "does not exist in our records") {
		t.Errorf("the old key still works: %v", err)
	}
}
