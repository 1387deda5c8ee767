package bucket_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/minio/minio-go/v7"
	miniocreds "github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/stoker-ml/stoker/local/bucket"
	"github.com/stoker-ml/stoker/storage"
)

const unsigned = "UNSIGNED-PAYLOAD"

// signed returns a request for a path as it is, which no client would send.
func signed(t *testing.T, server *bucket.Server, method, path, payload string, header map[string]string, body io.Reader, size int64) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, server.Endpoint(), body)
	if err != nil {
		t.Fatal(err)
	}
	r.URL.Path, r.URL.RawQuery, _ = strings.Cut(path, "?")
	r.ContentLength = size
	for name, value := range header {
		r.Header.Set(name, value)
	}
	r.Header.Set("X-Amz-Content-Sha256", payload)
	creds := server.Credentials()
	err = v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }).SignHTTP(t.Context(),
		aws.Credentials{AccessKeyID: creds.AccessKey, SecretAccessKey: creds.SecretKey}, r, payload, "s3", "us-east-1", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func do(t *testing.T, r *http.Request) (int, string) {
	t.Helper()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(data)
}

func TestKeysStayInTheirBucket(t *testing.T) {
	dir := t.TempDir()
	server, store := start(t, dir)
	if err := store.EnsureBucket(t.Context(), "keys"); err != nil {
		t.Fatal(err)
	}
	before := tree(t, dir)
	for _, path := range []string{
		"/keys/../credentials.json", "/keys/../../credentials.json", "/keys/a/../../../credentials.json", "/../credentials.json", "/./lock",
		"/keys//etc/passwd", "/keys/.", "/keys/..", "/keys/a//b", "/keys/a\x00b", "/keys/\xff", "/keys/" + strings.Repeat("x", 256), "/keys/" + strings.Repeat("x/", 600),
		"/../", "/.../a",
	} {
		for _, test := range []struct{ method, path, source string }{
			{http.MethodGet, path, ""}, {http.MethodHead, path, ""}, {http.MethodPut, path, ""}, {http.MethodDelete, path, ""}, {http.MethodPost, path + "?uploads", ""},
			{http.MethodPut, path + "?tagging", ""}, {http.MethodGet, path + "?tagging", ""}, {http.MethodPut, "/keys/copy", url.PathEscape(path[1:])},
			{http.MethodPut, "/keys/copy", (&url.URL{Path: path[1:]}).EscapedPath()},
		} {
			header := map[string]string{}
			if test.source != "" {
				header["X-Amz-Copy-Source"] = test.source
			}
			status, said := do(t, signed(t, server, test.method, test.path, unsigned, header, http.NoBody, 0))
			if status < 400 && test.method != http.MethodDelete || strings.Contains(said, "secret_key") || status >= 500 {
				t.Errorf("%s %.60q from %.60q: %d %.300s", test.method, test.path, test.source, status, said)
			}
		}
	}
	if after := tree(t, dir); after != before {
		t.Errorf("the folder holds\n%s\nheld\n%s", after, before)
	}
}

// partials returns the files that aren't visible yet, as soon as there are none or some time has
// passed.
func partials(t *testing.T, dir string) (names []string) {
	t.Helper()
	for range 200 {
		var err error
		if names, err = filepath.Glob(filepath.Join(dir, "partial", "*")); err != nil {
			t.Fatal(err)
		}
		if len(names) == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return names
}

func crc(text string) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(text))))
}

// A body that is not whole, or not the one that its headers and trailers describe, makes no object.
func TestBodiesThatAreNotWholeAreNoObjects(t *testing.T) {
	dir := t.TempDir()
	server, store := start(t, dir)
	if err := store.EnsureBucket(t.Context(), "bodies"); err != nil {
		t.Fatal(err)
	}
	const trailing = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
	good := "x-amz-checksum-crc32:" + crc("hello") + "\r\n"
	for name, test := range map[string]struct {
		payload, decoded, body string
		want                   int
	}{
		"whole":                        {unsigned, "", "hello", 200},
		"whole chunks":                 {trailing, "5", "2\r\nhe\r\n3\r\nllo\r\n0\r\n" + good + "\r\n", 200},
		"without the last line":        {trailing, "5", "5\r\nhello\r\n0\r\n" + good, 200},
		"no last chunk":                {trailing, "5", "5\r\nhello\r\n", 400},
		"no trailer":                   {trailing, "5", "5\r\nhello\r\n0\r\n\r\n", 400},
		"another checksum":             {trailing, "5", "5\r\nhello\r\n0\r\nx-amz-checksum-crc32:" + crc("HELLO") + "\r\n\r\n", 400},
		"shorter than it said":         {trailing, "6", "5\r\nhello\r\n0\r\n" + good + "\r\n", 400},
		"longer than it said":          {trailing, "4", "5\r\nhello\r\n0\r\n" + good + "\r\n", 400},
		"a chunk that ends early":      {trailing, "5", "6\r\nhello", 400},
		"a negative chunk":             {trailing, "5", "-5\r\nhello\r\n0\r\n" + good + "\r\n", 400},
		"a chunk beyond all bounds":    {trailing, "5", "7fffffffffffffff\r\nhello", 400},
		"a length beyond all bounds":   {trailing, "9223372036854775807", "5\r\nhello\r\n0\r\n" + good + "\r\n", 400},
		"a negative length":            {trailing, "-1", "5\r\nhello\r\n0\r\n" + good + "\r\n", 411},
		"no length":                    {trailing, "", "5\r\nhello\r\n0\r\n" + good + "\r\n", 411},
		"no chunks":                    {trailing, "5", "hello", 400},
		"a header without end":         {trailing, "5", strings.Repeat("0", 100<<10) + "5\r\nhello\r\n0\r\n" + good + "\r\n", 400},
		"trailers without end":         {trailing, "5", "5\r\nhello\r\n0\r\n" + strings.Repeat("a:b\r\n", 1000) + good + "\r\n", 400},
		"nothing, with its checksum":   {trailing, "0", "0\r\nx-amz-checksum-crc32:" + crc("") + "\r\n\r\n", 200},
		"nothing, with another's":      {trailing, "0", "0\r\n" + good + "\r\n", 400},
		"chunks that nobody signed":    {"STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "5", "5\r\nhello\r\n0\r\n\r\n", 403},
		"a signature of nobody":        {"STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER", "5", "5;chunk-signature=00\r\nhello\r\n0;chunk-signature=00\r\n" + good + "\r\n", 403},
		"a way to sign of another day": {"STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD", "5", "5\r\nhello\r\n0\r\n\r\n", 400},
		"a hash of something else":     {strings.Repeat("0", 64), "", "hello", 400},
		"a hash of a part of it":       {strings.Repeat("0", 64), "3", "hello", 400},
		"a hash that is none":          {"hello", "", "hello", 400},
	} {
		for _, path := range []string{"/bodies/" + url.PathEscape(name), "/bodies/parts?partNumber=1&uploadId="} {
			if strings.HasSuffix(path, "=") {
				upload, err := amazons(server, nil).CreateMultipartUpload(t.Context(), &awss3.CreateMultipartUploadInput{Bucket: aws.String("bodies"), Key: aws.String("parts")})
				if err != nil {
					t.Fatal(err)
				}
				path += *upload.UploadId
			}
			header := map[string]string{"X-Amz-Decoded-Content-Length": test.decoded, "Content-Encoding": "aws-chunked", "X-Amz-Trailer": "x-amz-checksum-crc32"}
			if test.payload != trailing {
				delete(header, "X-Amz-Trailer")
			}
			if test.decoded == "" {
				delete(header, "X-Amz-Decoded-Content-Length")
			}
			r := signed(t, server, http.MethodPut, path, test.payload, header, strings.NewReader(test.body), int64(len(test.body)))
			if status, said := do(t, r); status != test.want {
				t.Errorf("%s %s: %d, want %d: %s", name, path, status, test.want, said)
			}
			if test.want != http.StatusOK {
				if left := partials(t, dir); len(left) > 0 {
					t.Fatalf("%s %s: files are left: %q", name, path, left)
				}
				continue
			}
			if id, found := strings.CutPrefix(path, "/bodies/parts?partNumber=1&uploadId="); found {
				_, err := amazons(server, nil).AbortMultipartUpload(t.Context(), &awss3.AbortMultipartUploadInput{Bucket: aws.String("bodies"), Key: aws.String("parts"), UploadId: &id})
				if err != nil {
					t.Error(err)
				}
			}
		}
	}
	got := contents(t, store, "bodies")
	if len(got) != 4 {
		t.Errorf("objects are %q", got)
	}
}

// An upload whose client disconnects leaves no file.
func TestUploadsThatAreBrokenOffLeaveNothing(t *testing.T) {
	dir := t.TempDir()
	server, store := start(t, dir)
	if err := store.EnsureBucket(t.Context(), "broken"); err != nil {
		t.Fatal(err)
	}
	r := signed(t, server, http.MethodPut, "/broken/off", unsigned, nil, http.NoBody, 1<<20)
	conn, err := net.Dial("tcp", r.URL.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r.Body = io.NopCloser(strings.NewReader(strings.Repeat("x", 1<<19))) // half of it
	w := bufio.NewWriter(conn)
	_ = r.Write(w) // the error reports that the body is too short
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if left := partials(t, dir); len(left) > 0 {
		t.Errorf("files are left: %q", left)
	}
	if got := contents(t, store, "broken"); len(got) > 0 {
		t.Errorf("objects are %q", got)
	}
}

// MinIO's client signs trailers where it has no TLS.
func TestSignedTrailers(t *testing.T) {
	server, store := start(t, t.TempDir())
	if err := store.EnsureBucket(t.Context(), "trailers"); err != nil {
		t.Fatal(err)
	}
	creds := server.Credentials()
	body := strings.Repeat("hello ", 50_000)
	var change atomic.Bool
	client, err := minio.New(strings.TrimPrefix(server.Endpoint(), "http://"), &minio.Options{
		Creds: miniocreds.NewStaticV4(creds.AccessKey, creds.SecretKey, ""), Region: "us-east-1", MaxRetries: 1, TrailingHeaders: true,
		Transport: changing{func(r *http.Request) {
			if r.Method != http.MethodPut || r.Header.Get("X-Amz-Trailer") == "" {
				t.Errorf("%s without trailers", r.Method)
				return
			}
			data, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			if change.Load() {
				at := bytes.LastIndex(data, []byte("x-amz-checksum-"))
				data[at+len("x-amz-checksum-crc32c:")] ^= 1
			}
			r.Body = io.NopCloser(bytes.NewReader(data))
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	put := func(key string) error {
		_, err := client.PutObject(t.Context(), "trailers", key, strings.NewReader(body), int64(len(body)), minio.PutObjectOptions{DisableMultipart: true, Checksum: minio.ChecksumCRC32C})
		return err
	}
	if err := put("good"); err != nil {
		t.Error(err)
	}
	if object, err := store.Stat(t.Context(), storage.Ref{Bucket: "trailers", Key: "good"}); err != nil || object.Size != int64(len(body)) {
		t.Errorf("%+v, %v", object, err)
	}
	change.Store(true)
	if err := put("changed"); minio.ToErrorResponse(err).Code != "SignatureDoesNotMatch" {
		t.Errorf("a changed trailer: %v", err)
	}
	if got := contents(t, store, "trailers"); len(got) != 1 {
		t.Errorf("objects are %q", got)
	}
}

// endless is a body of zeros.
type endless struct{}

func (endless) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// Objects and parts are written to disk as they arrive, and sent to the client from there.
func TestMemoryDoesNotGrowWithObjects(t *testing.T) {
	server, store := start(t, t.TempDir())
	if err := store.EnsureBucket(t.Context(), "large"); err != nil {
		t.Fatal(err)
	}
	const size, most = 256 << 20, 16 << 20
	client := amazons(server, nil)
	name, key := aws.String("large"), aws.String("parts")
	upload, err := client.CreateMultipartUpload(t.Context(), &awss3.CreateMultipartUploadInput{Bucket: name, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	allocates := func(doing string, do func()) {
		t.Helper()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		do()
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > most {
			t.Errorf("%s %d bytes allocates %d bytes", doing, size, got)
		}
	}
	for _, path := range []string{"/large/object", "/large/parts?partNumber=1&uploadId=" + *upload.UploadId} {
		allocates("putting", func() {
			r := signed(t, server, http.MethodPut, path, unsigned, nil, io.NopCloser(io.LimitReader(endless{}, size)), size)
			if status, said := do(t, r); status != http.StatusOK {
				t.Fatal(status, said)
			}
		})
	}
	allocates("completing", func() {
		text := `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>1f5039e50bd66b290c56684d8550c6c2</ETag></Part></CompleteMultipartUpload>`
		r := signed(t, server, http.MethodPost, "/large/parts?uploadId="+*upload.UploadId, unsigned, nil, strings.NewReader(text), int64(len(text)))
		if status, said := do(t, r); status != http.StatusOK {
			t.Fatal(status, said)
		}
	})
	for _, path := range []string{"/large/object", "/large/parts"} {
		allocates("getting", func() {
			answer, err := http.DefaultClient.Do(signed(t, server, http.MethodGet, path, unsigned, nil, http.NoBody, 0))
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			if n, err := io.Copy(io.Discard, answer.Body); n != size || err != nil {
				t.Errorf("read %d, %v", n, err)
			}
		})
	}
}

// Requests that gofakes3 would handle differently from S3 are refused, or corrected.
func TestConditionsAndRangesAreThoseOfS3(t *testing.T) {
	server, store := start(t, t.TempDir())
	if err := store.EnsureBucket(t.Context(), "conditions"); err != nil {
		t.Fatal(err)
	}
	put(t, store, "conditions", "key", []byte("hello"))
	for name, test := range map[string]struct {
		method, path string
		header       map[string]string
		status       int
		body         string
	}{
		"a copy on a condition":         {http.MethodPut, "/conditions/key", map[string]string{"X-Amz-Copy-Source": "conditions/key", "If-None-Match": "*"}, 412, "PreconditionFailed"},
		"a copy of another version":     {http.MethodPut, "/conditions/copy", map[string]string{"X-Amz-Copy-Source": "conditions/key", "X-Amz-Copy-Source-If-Match": "other"}, 412, "PreconditionFailed"},
		"deleting another version":      {http.MethodDelete, "/conditions/key", map[string]string{"If-Match": `"other"`}, 412, "PreconditionFailed"},
		"a form":                        {http.MethodPost, "/conditions", nil, 501, "NotImplemented"},
		"the parts of no upload":        {http.MethodGet, "/conditions/key?uploadId=1&part-number-marker=7", nil, 404, "NoSuchUpload"},
		"a range":                       {http.MethodGet, "/conditions/key", map[string]string{"Range": "bytes=1-2"}, 206, "el"},
		"a range without end":           {http.MethodGet, "/conditions/key", map[string]string{"Range": "bytes=3-"}, 206, "lo"},
		"a range far beyond the end":    {http.MethodGet, "/conditions/key", map[string]string{"Range": "bytes=3-" + strconv.FormatInt(1<<63-1, 10)}, 206, "lo"},
		"a range from before the start": {http.MethodGet, "/conditions/key", map[string]string{"Range": "bytes=-64"}, 206, "hello"},
		"a range of the end":            {http.MethodGet, "/conditions/key", map[string]string{"Range": "bytes=-2"}, 206, "lo"},
		"a range of nothing":            {http.MethodGet, "/conditions/key", map[string]string{"Range": "bytes=5-"}, 416, "InvalidRange"},
		"a range of a later object":     {http.MethodGet, "/conditions/key", map[string]string{"Range": "bytes=1-2", "If-Range": `"other"`}, 200, "hello"},
	} {
		status, body := do(t, signed(t, server, test.method, test.path, unsigned, test.header, http.NoBody, 0))
		if status != test.status || !strings.Contains(body, test.body) {
			t.Errorf("%s: %d %s, want %d %s", name, status, body, test.status, test.body)
		}
	}
	if got := contents(t, store, "conditions"); len(got) != 1 {
		t.Errorf("objects are %q", got)
	}
}

// Of many requests that replace or delete the same version, one succeeds.
func TestOneOfManyWritersReplacesAVersion(t *testing.T) {
	server, store := start(t, t.TempDir())
	if err := store.EnsureBucket(t.Context(), "race"); err != nil {
		t.Fatal(err)
	}
	const writers, rounds = 8, 20
	for round := range rounds {
		put(t, store, "race", "key", fmt.Appendf(nil, "round %d", round))
		o, err := store.Stat(t.Context(), storage.Ref{Bucket: "race", Key: "key"})
		if err != nil {
			t.Fatal(err)
		}
		var won atomic.Int32
		var writing sync.WaitGroup
		for w := range writers {
			text := fmt.Sprintf("round %d, writer %d", round, w)
			r := signed(t, server, http.MethodPut, "/race/key", unsigned, map[string]string{"If-Match": o.ETag}, strings.NewReader(text), int64(len(text)))
			if w%2 == 0 {
				r = signed(t, server, http.MethodDelete, "/race/key", unsigned, map[string]string{"If-Match": o.ETag}, http.NoBody, 0)
			}
			writing.Go(func() {
				switch status, body := do(t, r); {
				case status == http.StatusOK:
					won.Add(1)
				case status == http.StatusNoContent || status == http.StatusPreconditionFailed || status == http.StatusNotFound:
					// Deleting an object that is gone succeeds.
				default:
					t.Errorf("%d %s", status, body)
				}
			})
		}
		writing.Wait()
		if won.Load() > 1 {
			t.Errorf("round %d: %d writers replaced one version", round, won.Load())
		}
	}
}

// A panic ends its request, and blocks no other one.
func TestAPanicEndsItsRequestAlone(t *testing.T) {
	var calls atomic.Int32
	_, store := startWith(t, bucket.Options{Dir: t.TempDir(), Notify: bucket.Notifications{Send: func(context.Context, string, []byte) error {
		if calls.Add(1) == 1 {
			panic("of a test")
		}
		return nil
	}}})
	if err := store.EnsureBucket(t.Context(), "panics"); err != nil {
		t.Fatal(err)
	}
	put(t, store, "panics", "key", []byte("hello")) // the client tries again
	if got := calls.Load(); got != 2 {
		t.Errorf("%d calls", got)
	}
}
