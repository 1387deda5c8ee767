package storage_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/storage"
)

func ExampleParseRef() {
	ref, err := storage.ParseRef("s3://artifacts/penguin/Trainer/model")
	if err != nil {
		panic(err)
	}
	fmt.Println(ref.Bucket, ref.Key)
	fmt.Println(ref.Join("Format-Serving", "saved_model.pb"))

	_, err = storage.ParseRef("s3://artifacts/penguin/../secrets")
	fmt.Println(err)
	// Output:
	// artifacts penguin/Trainer/model
	// s3://artifacts/penguin/Trainer/model/Format-Serving/saved_model.pb
	// bad address "s3://artifacts/penguin/../secrets": key holds the element ".."
}

func TestRefComesBackFromItsText(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"s3://abc", "s3://a.b-c/d", "s3://abc/d/e/", "s3://abc/ünï/ 100%?x=y#z", "s3://abc/.system/x..y"} {
		ref, err := storage.ParseRef(s)
		if err != nil {
			t.Errorf("%q: %v", s, err)
		} else if ref.String() != s {
			t.Errorf("%q became %q", s, ref)
		}
	}
}

func TestBadRefsAreRefused(t *testing.T) {
	t.Parallel()
	for s, why := range map[string]string{
		"":                    "expected s3://",
		"gs://abc/d":          "expected s3://",
		"/local/path":         "expected s3://",
		"s3://":               "3 to 63",
		"s3://ab/c":           "3 to 63",
		"s3://Abc/d":          "a-z",
		"s3://a_b/d":          "a-z",
		"s3://abc@host/d":     "a-z",
		"s3://-abc/d":         "begin and end",
		"s3://a..b/d":         `".."`,
		"s3://127.0.0.1/d":    "IP",
		"s3://abc//d":         "empty element",
		"s3://abc/d//e":       "empty element",
		"s3://abc/d//":        "empty element",
		"s3://abc/../d":       `".."`,
		"s3://abc/d/..":       `".."`,
		"s3://abc/./d":        `"."`,
		"s3://abc/d\ne":       "control",
		"s3://abc/d\x00":      "control",
		"s3://abc/d\u0085e":   "control",
		"s3://abc/\xff":       "UTF-8",
		"s3://abc/" + x(1025): "1024",
		"s3://abc/" + x(256):  "255",
	} {
		_, err := storage.ParseRef(s)
		if !errors.Is(err, storage.ErrBadRef) || !strings.Contains(fmt.Sprint(err), why) {
			t.Errorf("%.40q: got %v, want a word of %s", s, err, why)
		}
	}
}

func x(n int) string { return strings.Repeat("x", n) }

func TestJoinAndBelowAreInverse(t *testing.T) {
	t.Parallel()
	root := storage.Ref{Bucket: "abc", Key: "a/b"}
	for _, folder := range []storage.Ref{root, root.Folder(), {Bucket: "abc"}} {
		if path, ok := folder.Join("c", "d/e").Below(folder); !ok || path != "c/d/e" {
			t.Errorf("%s: %q, %v", folder, path, ok)
		}
	}
	for _, other := range []storage.Ref{root, root.Folder(), {Bucket: "abc", Key: "a/bc"}, {Bucket: "xyz", Key: "a/b/c"}} {
		if path, ok := other.Below(root); ok {
			t.Errorf("%s is below %s: %q", other, root, path)
		}
	}
}

func TestRefIsTextInJSON(t *testing.T) {
	t.Parallel()
	type doc struct{ Ref, None storage.Ref }
	data, err := json.Marshal(doc{Ref: storage.Ref{Bucket: "abc", Key: "d"}})
	if err != nil || string(data) != `{"Ref":"s3://abc/d","None":""}` {
		t.Fatalf("%s, %v", data, err)
	}
	var back doc
	if err := json.Unmarshal(data, &back); err != nil || back.Ref.Key != "d" || !back.None.IsZero() {
		t.Errorf("%+v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"Ref":"s3://abc/../d"}`), &back); !errors.Is(err, storage.ErrBadRef) {
		t.Errorf("took %+v, %v", back, err)
	}
	if _, err := json.Marshal(doc{Ref: storage.Ref{Bucket: "abc", Key: "../d"}}); !errors.Is(err, storage.ErrBadRef) {
		t.Errorf("wrote a bad one: %v", err)
	}
}

// A Ref that ParseRef accepts has itself as text, and as a path does not lead out of a folder.
func FuzzParseRef(f *testing.F) {
	for _, s := range []string{"s3://abc", "s3://abc/d/e", "s3://abc/d/../e", "s3://abc/\x00", "s3://abc//", "s3://abc/C:\\x", "s3://a.b/~"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ref, err := storage.ParseRef(s)
		if err != nil {
			if !errors.Is(err, storage.ErrBadRef) {
				t.Errorf("%q: %v", s, err)
			}
			return
		}
		if ref.String() != strings.TrimSuffix(s, "/") && ref.String() != s {
			t.Errorf("%q became %q", s, ref)
		}
		again, err := storage.ParseRef(ref.String())
		if err != nil || again != ref {
			t.Errorf("%q became %q, %v", ref, again, err)
		}
		if ref.Key != "" && !filepath.IsLocal(filepath.FromSlash(ref.Key)) {
			t.Errorf("%q leads out", ref.Key)
		}
	})
}
