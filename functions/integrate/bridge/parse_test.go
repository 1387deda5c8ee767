package bridge

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/storage"
)

// captured returns a message in testdata, as its server sent it (AWS: as printed in the S3 user
// guide).
func captured(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestMessagesOfAllServersAreReadAlike(t *testing.T) {
	t.Parallel()
	const key = "penguin/run 1+2 %41 ü/_SUCCESS"
	for name, want := range map[string]upload{
		"aws": {
			at: storage.Ref{Bucket: "amzn-s3-demo-bucket", Key: key}, version: "096fKKXTRTtl3on89fVO.nfljtsv6qko",
			etag: "d41d8cd98f00b204e9800998ecf8427e", time: time.Unix(0, 0),
		},
		"minio": {
			at: storage.Ref{Bucket: "data", Key: key}, version: "18EA15536E6869DD 2026-11-21T14:20:49.54Z",
			etag: "99914b932bd37a50b983c5e7c90ae93b", time: time.Date(2026, 11, 21, 14, 20, 49, 540e6, time.UTC),
			metadata: map[string]string{"pipeline": "penguin"},
		},
		"versitygw": {
			at: storage.Ref{Bucket: "data", Key: key}, version: "2 2026-11-21T14:01:16Z",
			etag: "99914b932bd37a50b983c5e7c90ae93b", time: time.Date(2026, 11, 21, 14, 1, 16, 0, time.UTC),
		},
	} {
		uploads, err := parse(captured(t, name))
		if err != nil || len(uploads) != 1 {
			t.Errorf("%s: got %v, %v", name, uploads, err)
			continue
		}
		got := uploads[0]
		same := got.at == want.at && got.version == want.version && got.etag == want.etag && got.time.Equal(want.time) && got.badKey == nil
		if !same || !maps.Equal(got.metadata, want.metadata) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", name, got, want)
		}
	}
}

func TestMessagesThatAreNoUploadAreIgnored(t *testing.T) {
	t.Parallel()
	removed := strings.Replace(string(captured(t, "versitygw")), "ObjectCreated:Put", "ObjectRemoved:Delete", 1)
	for name, body := range map[string][]byte{
		"aws's first message":       captured(t, "aws-test"),
		"versitygw's first message": captured(t, "versitygw-test"),
		"a removal":                 []byte(removed),
	} {
		if uploads, err := parse(body); len(uploads) > 0 || err != nil {
			t.Errorf("%s: got %v, %v, want nothing", name, uploads, err)
		}
	}
}

func TestWhatIsNoEventMessageIsAnError(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"":                             "unexpected end of JSON input",
		"hello":                        "invalid character 'h'",
		"{}":                           "expected Records, got none",
		`[]`:                           "expected a JSON object, got JSON array",
		`{"Records": {}}`:              "records: JSON object is of the wrong type",
		`{"Records": [{"s3": 1}]}`:     "records.s3: JSON number is of the wrong type",
		`{"specversion": "1.0"}`:       "expected Records",
		`{"Event": "s3:SomethingNew"}`: "expected Records",
		`{"Records": [{"eventTime": "yesterday", "s3": {}}]}`: "yesterday",
	} {
		if uploads, err := parse([]byte(body)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, %v, want an error with %q", body, uploads, err, want)
		}
	}
}

// A server that counts from 1 again after a restart sends another upload with the same number.
func TestAnUploadAfterARestartOfItsServerIsAnother(t *testing.T) {
	t.Parallel()
	body := string(captured(t, "versitygw"))
	first, err := parse([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	later, err := parse([]byte(strings.Replace(body, "2026-11-21T14:01:16Z", "2026-11-22T09:00:00Z", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if first[0].id() == later[0].id() {
		t.Error("both have the same id")
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"aws", "aws-test", "minio", "versitygw", "versitygw-test"} {
		f.Add(captured(f, name))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		uploads, err := parse(body)
		if err != nil && len(uploads) > 0 {
			t.Errorf("uploads %v with the error %v", uploads, err)
		}
		for _, u := range uploads {
			again, err := parse(body)
			if err != nil || again[0].id() != uploads[0].id() {
				t.Errorf("another id when read again: %v", err)
			}
			u.folder()
		}
	})
}

func FuzzMarker(f *testing.F) {
	f.Add([]byte(""), "s")
	f.Add([]byte(`{"pipeline": "penguin", "examples": [{"uri": ".", "splits": ["train"]}], "schema": "../schema"}`), "a/b")
	f.Add([]byte(`{"pipeline_spec": {}}`), "..")
	f.Fuzz(func(t *testing.T, body []byte, address string) {
		marker, err := parseMarker(body)
		if err == nil && marker.PipelineSpec != nil {
			t.Error("takes code from a bucket")
		}
		folder := storage.Ref{Bucket: "data", Key: "a/b"}
		at := within(folder, address)
		if ref, err := storage.ParseRef(at); err == nil && !strings.Contains(address, "://") && ref.Bucket != "data" {
			t.Errorf("%q leads to %s", address, at)
		}
	})
}
