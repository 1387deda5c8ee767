package bucket_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/stoker-ml/stoker/local/bucket"
	"github.com/stoker-ml/stoker/storage"
)

func TestAFolderOfAnEarlierServerIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "buckets", "artifacts"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := bucket.Start(t.Context(), bucket.Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "move it away") {
		t.Errorf("got %v", err)
	}
}

// A file that another program writes is an object, and one that it changes is another object.
func TestFilesOfOtherProgramsAreObjects(t *testing.T) {
	dir := t.TempDir()
	_, store := start(t, dir)
	if err := store.EnsureBucket(t.Context(), "files"); err != nil {
		t.Fatal(err)
	}
	ref, file := storage.Ref{Bucket: "files", Key: "a/b"}, filepath.Join(dir, "buckets", "files", "a", "b")
	put(t, store, "files", "a/b", []byte("hello"))
	for _, text := range []string{"HELLO", "longer than that"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		now := time.Now().Add(time.Second) // the kernel's clock may not have moved
		if err := os.Chtimes(file, now, now); err != nil {
			t.Fatal(err)
		}
		before, err := store.Stat(t.Context(), ref)
		if err != nil || before.Size != int64(len(text)) {
			t.Fatalf("%+v, %v", before, err)
		}
		if _, err := store.PutIf(t.Context(), ref, []byte("next"), storage.Condition{IfMatch: before.ETag}); err != nil {
			t.Errorf("replace %q: %v", text, err)
		}
	}
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "buckets", "files", "leads-out")); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Stat(t.Context(), storage.Ref{Bucket: "files", Key: "leads-out"}); err == nil {
		t.Error("a link out of the folder is followed")
	}
	for o, err := range store.List(t.Context(), storage.Ref{Bucket: "files"}) {
		if err != nil || o.Ref != ref {
			t.Errorf("listed %s, %v", o.Ref, err)
		}
	}
}

func TestKeysThatLeadOutAreRefused(t *testing.T) {
	dir := t.TempDir()
	server, store := start(t, dir)
	if err := store.EnsureBucket(t.Context(), "inside"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", filepath.Join(dir, "buckets", "inside", "leads-out")); err != nil {
		t.Fatal(err)
	}
	client := amazons(server, nil)
	for _, key := range []string{"../../credentials.json", "a/../../../credentials.json", "..", "a/..", "a//b", "./a", "leads-out/hostname", strings.Repeat("x", 300)} {
		_, err := client.GetObject(t.Context(), &awss3.GetObjectInput{Bucket: aws.String("inside"), Key: &key})
		if err == nil || strings.Contains(err.Error(), "InternalError") {
			t.Errorf("read of %q: %v", key, err)
		}
		_, err = client.PutObject(t.Context(), &awss3.PutObjectInput{Bucket: aws.String("inside"), Key: &key, Body: strings.NewReader("x")})
		if err == nil {
			t.Errorf("%q was written", key)
		}
	}
	if got := contents(t, store, "inside"); len(got) > 0 {
		t.Errorf("listed %q", got)
	}
}

// A copy of the folder has the same ETags and metadata, also where it was made without the times of
// files.
func TestACopyOfTheFolderIsTheSameStore(t *testing.T) {
	dir, other := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	server, store := start(t, dir)
	if err := store.EnsureBucket(t.Context(), "kept"); err != nil {
		t.Fatal(err)
	}
	put(t, store, "kept", "large", bytes.Repeat([]byte("x"), 40<<20)) // in parts
	_, err := amazons(server, nil).PutObject(t.Context(), &awss3.PutObjectInput{
		Bucket: aws.String("kept"), Key: aws.String("small"), Body: strings.NewReader("hello"), Metadata: map[string]string{"run": "monday"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := contents(t, store, "kept")
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.CommandContext(t.Context(), "cp", "-r", dir, other).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v", said, err)
	}
	server, store = start(t, other)
	if got := contents(t, store, "kept"); !slices.Equal(got, want) || !strings.Contains(got[0], "-3") {
		t.Errorf("got %q, want %q", got, want)
	}
	head, err := amazons(server, nil).HeadObject(t.Context(), &awss3.HeadObjectInput{Bucket: aws.String("kept"), Key: aws.String("small")})
	if err != nil || head.Metadata["run"] != "monday" {
		t.Errorf("metadata is %v, %v", head, err)
	}
}

// contents lists keys and ETags.
func contents(t *testing.T, store storage.Store, name string) (all []string) {
	t.Helper()
	for o, err := range store.List(t.Context(), storage.Ref{Bucket: name}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, o.Ref.Key+" "+o.ETag)
	}
	return all
}

// An upload in parts continues after the server was restarted, and so does a client that did not
// get the last answer.
func TestAnUploadOutlivesTheServer(t *testing.T) {
	dir := t.TempDir()
	server, store := start(t, dir)
	if err := store.EnsureBucket(t.Context(), "parts"); err != nil {
		t.Fatal(err)
	}
	name, key := aws.String("parts"), aws.String("a/b")
	client := amazons(server, nil)
	upload, err := client.CreateMultipartUpload(t.Context(), &awss3.CreateMultipartUploadInput{Bucket: name, Key: key, ContentType: aws.String("text/plain")})
	if err != nil {
		t.Fatal(err)
	}
	var parts []types.CompletedPart
	send := func(number int32, text string) {
		t.Helper()
		part, err := client.UploadPart(t.Context(), &awss3.UploadPartInput{
			Bucket: name, Key: key, UploadId: upload.UploadId, PartNumber: &number, Body: strings.NewReader(text),
		})
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, types.CompletedPart{PartNumber: &number, ETag: part.ETag})
	}
	first := strings.Repeat("x", 5<<20)
	send(1, strings.Repeat("y", 5<<20)) // which the next one replaces
	parts = nil
	send(1, first)
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	server, _ = start(t, dir)
	client = amazons(server, nil)
	send(2, "the end")
	open, err := client.ListMultipartUploads(t.Context(), &awss3.ListMultipartUploadsInput{Bucket: name, Prefix: aws.String("a/")})
	if err != nil || len(open.Uploads) != 1 || *open.Uploads[0].UploadId != *upload.UploadId {
		t.Errorf("uploads are %+v, %v", open, err)
	}
	listed, err := client.ListParts(t.Context(), &awss3.ListPartsInput{Bucket: name, Key: key, UploadId: upload.UploadId})
	if err != nil || len(listed.Parts) != 2 || *listed.Parts[0].ETag != *parts[0].ETag {
		t.Errorf("parts are %+v, %v", listed, err)
	}
	for range 2 {
		_, err = client.CompleteMultipartUpload(t.Context(), &awss3.CompleteMultipartUploadInput{
			Bucket: name, Key: key, UploadId: upload.UploadId, MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	out, err := client.GetObject(t.Context(), &awss3.GetObjectInput{Bucket: name, Key: key, Range: aws.String("bytes=5242878-")})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Body.Close()
	if data, err := io.ReadAll(out.Body); err != nil || string(data) != "xxthe end" || *out.ContentType != "text/plain" {
		t.Errorf("got %q, %v", data, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "uploads", "*")); err != nil || len(left) > 0 {
		t.Errorf("uploads left: %q, %v", left, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "partial", "*")); err != nil || len(left) > 0 {
		t.Errorf("files left: %q, %v", left, err)
	}
}

func TestMarksOfFoldersAreObjects(t *testing.T) {
	server, store := start(t, t.TempDir())
	if err := store.EnsureBucket(t.Context(), "marks"); err != nil {
		t.Fatal(err)
	}
	client, name := amazons(server, nil), aws.String("marks")
	_, err := client.PutObject(t.Context(), &awss3.PutObjectInput{Bucket: name, Key: aws.String("a/b/")})
	if err != nil {
		t.Fatal(err)
	}
	put(t, store, "marks", "a/b/c", []byte("x"))
	if err := store.Delete(t.Context(), storage.Ref{Bucket: "marks", Key: "a/b/c"}); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, store, "marks"); len(got) != 1 || !strings.HasPrefix(got[0], "a/b/ ") {
		t.Errorf("listed %q, want the mark", got)
	}
	if err := store.Delete(t.Context(), storage.Ref{Bucket: "marks", Key: "a/b/"}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.DeleteBucket(t.Context(), &awss3.DeleteBucketInput{Bucket: name}); err != nil {
		t.Error(err)
	}
}

// Pages of any size, put together, are what a plain sort and grouping of the keys comes to.
func TestListingsAreThoseOfSortedKeys(t *testing.T) {
	server, store := start(t, t.TempDir())
	if err := store.EnsureBucket(t.Context(), "lists"); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	keys := map[string]bool{}
	for len(keys) < 120 {
		var parts []string
		for range 1 + random.IntN(4) {
			parts = append(parts, []string{"a", "a-", "a.b", "b", "A", "ü", "a b"}[random.IntN(7)])
		}
		keys[strings.Join(parts, "/")+"/file"+string(rune('0'+random.IntN(10)))] = true
	}
	var sorted []string
	for key := range keys {
		put(t, store, "lists", key, []byte("x"))
		sorted = append(sorted, key)
	}
	slices.Sort(sorted)
	client := amazons(server, nil)
	for _, prefix := range []string{"", "a", "a/", "a/a", "b/a.b/", "a-/file", "none/", "a b/"} {
		for _, delimiter := range []string{"", "/", "a", "/file"} {
			for _, after := range []string{"", "a", "a/b/", "a/b/file3", "ü"} {
				want := grouped(sorted, prefix, delimiter, after)
				for _, most := range []int32{1, 2, 7, 1000} {
					got := listed(t, client, prefix, delimiter, after, most)
					if !slices.Equal(got, want) {
						t.Fatalf("prefix %q, delimiter %q, after %q, pages of %d:\ngot  %q\nwant %q", prefix, delimiter, after, most, got, want)
					}
				}
			}
		}
	}
}

func grouped(keys []string, prefix, delimiter, after string) (want []string) {
	for _, key := range keys {
		rest, found := strings.CutPrefix(key, prefix)
		if !found || key <= after {
			continue
		}
		if delimiter != "" {
			if i := strings.Index(rest, delimiter); i >= 0 {
				key = prefix + rest[:i+len(delimiter)]
			}
		}
		if key != after && !slices.Contains(want, key) {
			want = append(want, key)
		}
	}
	return want
}

func listed(t *testing.T, client *awss3.Client, prefix, delimiter, after string, most int32) (got []string) {
	t.Helper()
	pages := awss3.NewListObjectsV2Paginator(client, &awss3.ListObjectsV2Input{
		Bucket: aws.String("lists"), Prefix: &prefix, Delimiter: &delimiter, StartAfter: &after, MaxKeys: &most,
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n := len(page.Contents) + len(page.CommonPrefixes); n > int(most) || n != int(*page.KeyCount) {
			t.Fatalf("%d on a page of %d", n, most)
		}
		var names []string
		for _, o := range page.Contents {
			names = append(names, *o.Key)
		}
		for _, p := range page.CommonPrefixes {
			names = append(names, *p.Prefix)
		}
		slices.Sort(names)
		got = append(got, names...)
	}
	return got
}
