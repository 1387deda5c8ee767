package bucket_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/minio/minio-go/v7"
	miniocreds "github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/stoker-ml/stoker/local/bucket"
)

// amazons returns Amazon's client, which may change what it has signed.
func amazons(server *bucket.Server, change func(*http.Request)) *awss3.Client {
	creds := server.Credentials()
	return awss3.New(awss3.Options{
		BaseEndpoint: aws.String(server.Endpoint()), Region: "eu-central-1", UsePathStyle: true, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider(creds.AccessKey, creds.SecretKey, ""),
		HTTPClient:  &http.Client{Transport: changing{change}},
	})
}

type changing struct{ change func(*http.Request) }

func (c changing) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.change != nil {
		r = r.Clone(r.Context())
		c.change(r)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// A request of which any part was changed after it was signed is refused.
func TestChangedRequestsAreRefused(t *testing.T) {
	server, store := start(t, t.TempDir())
	if err := store.EnsureBucket(t.Context(), "signed"); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(*http.Request)
		code   string
	}{
		"nothing":               {func(*http.Request) {}, ""},
		"the key":               {func(r *http.Request) { r.URL.Path, r.URL.RawPath = "/signed/other", "" }, "SignatureDoesNotMatch"},
		"the method":            {func(r *http.Request) { r.Method = http.MethodDelete }, "SignatureDoesNotMatch"},
		"the query":             {func(r *http.Request) { r.URL.RawQuery += "&tagging" }, "SignatureDoesNotMatch"},
		"a signed header":       {func(r *http.Request) { r.Header.Set("X-Amz-Meta-Run", "tuesday") }, "SignatureDoesNotMatch"},
		"an unsigned header":    {func(r *http.Request) { r.Header.Set("X-Amz-Copy-Source", "/other/key") }, "AccessDenied"},
		"the host":              {func(r *http.Request) { r.Host = "example.com" }, "SignatureDoesNotMatch"},
		"the time":              {func(r *http.Request) { r.Header.Set("X-Amz-Date", "20200101T000000Z") }, "AuthorizationHeaderMalformed"},
		"no signature":          {func(r *http.Request) { r.Header.Del("Authorization") }, "AccessDenied"},
		"another version":       {func(r *http.Request) { r.Header.Set("Authorization", "AWS key:signature") }, "AuthorizationHeaderMalformed"},
		"the body":              {func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("HELLO")) }, "XAmzContentSHA256Mismatch"},
		"the access key":        {func(r *http.Request) { swap(r, server.Credentials().AccessKey, "SOMEBODYELSE") }, "InvalidAccessKeyId"},
		"the scope":             {func(r *http.Request) { swap(r, "eu-central-1", "eu-central-2") }, "SignatureDoesNotMatch"},
		"the service":           {func(r *http.Request) { swap(r, "/s3/", "/sts/") }, "AuthorizationHeaderMalformed"},
		"which headers it says": {func(r *http.Request) { swap(r, "host;", "") }, "AccessDenied"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := amazons(server, test.change).PutObject(t.Context(), &awss3.PutObjectInput{
				Bucket: aws.String("signed"), Key: aws.String("key"), Body: strings.NewReader("hello"), Metadata: map[string]string{"run": "monday"},
				ChecksumAlgorithm: "", ContentLength: aws.Int64(5),
			}, awss3.WithAPIOptions(), func(o *awss3.Options) { o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired })
			if test.code == "" && err == nil {
				return
			}
			if test.code == "" || err == nil || !strings.Contains(err.Error(), test.code) {
				t.Errorf("got %v, want %q", err, test.code)
			}
		})
	}
}

func swap(r *http.Request, old, to string) {
	r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), old, to, 1))
}

// A body that is sent in signed chunks, as MinIO's client sends it without TLS, is refused where a
// byte of it is another.
func TestChangedChunksAreRefused(t *testing.T) {
	server, store := start(t, t.TempDir())
	if err := store.EnsureBucket(t.Context(), "chunks"); err != nil {
		t.Fatal(err)
	}
	creds := server.Credentials()
	body := bytes.Repeat([]byte("x"), 300<<10) // several chunks
	for name, at := range map[string]int{"nothing": -1, "the first chunk": 1000, "the last chunk": 290 << 10, "a signature": 40} {
		client, err := minio.New(strings.TrimPrefix(server.Endpoint(), "http://"), &minio.Options{
			Creds: miniocreds.NewStaticV4(creds.AccessKey, creds.SecretKey, ""), Region: "us-east-1", MaxRetries: 1,
			Transport: changing{func(r *http.Request) {
				if r.Body == nil || at < 0 {
					return
				}
				data, err := io.ReadAll(r.Body)
				if err != nil || len(data) <= len(body) {
					t.Errorf("%d bytes came for %d, %v: no chunks", len(data), len(body), err)
					return
				}
				data[at] ^= 1
				r.Body = io.NopCloser(bytes.NewReader(data))
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.PutObject(t.Context(), "chunks", "key", bytes.NewReader(body), int64(len(body)), minio.PutObjectOptions{DisableMultipart: true})
		if at < 0 && err != nil {
			t.Error(err)
		}
		if code := minio.ToErrorResponse(err).Code; at >= 0 && code != "SignatureDoesNotMatch" {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestPresignedURLsOpenOneObjectForAWhile(t *testing.T) {
	server, store := start(t, t.TempDir())
	if err := store.EnsureBucket(t.Context(), "lent"); err != nil {
		t.Fatal(err)
	}
	client := awss3.NewPresignClient(amazons(server, nil))
	put, err := client.PresignPutObject(t.Context(), &awss3.PutObjectInput{Bucket: aws.String("lent"), Key: aws.String("a b/ü+")})
	if err != nil {
		t.Fatal(err)
	}
	get, err := client.PresignGetObject(t.Context(), &awss3.GetObjectInput{
		Bucket: aws.String("lent"), Key: aws.String("a b/ü+"), ResponseContentType: aws.String("text/plain"),
	}, awss3.WithPresignExpires(2*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if status, body, _ := fetch(t, http.MethodPut, put.URL, "hello"); status != http.StatusOK {
		t.Fatalf("put: %d %s", status, body)
	}
	status, body, header := fetch(t, http.MethodGet, get.URL, "")
	if status != http.StatusOK || body != "hello" || header.Get("Content-Type") != "text/plain" {
		t.Errorf("get: %d %q %v", status, body, header)
	}
	for name, url := range map[string]string{
		"another key": strings.Replace(get.URL, "%C3%BC", "u", 1), "a longer time": strings.Replace(get.URL, "Expires=2", "Expires=200", 1),
	} {
		if status, _, _ := fetch(t, http.MethodGet, url, ""); status != http.StatusForbidden {
			t.Errorf("%s: %d", name, status)
		}
	}
	time.Sleep(3100 * time.Millisecond)
	if status, _, _ := fetch(t, http.MethodGet, get.URL, ""); status != http.StatusForbidden {
		t.Errorf("after its time: %d", status)
	}
}

func fetch(t *testing.T, method, url, body string) (int, string, http.Header) {
	t.Helper()
	request, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(data), answer.Header
}
