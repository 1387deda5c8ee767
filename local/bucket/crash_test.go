package bucket

import (
	"strings"
	"testing"
)

// A process that ends after it has written an object's record, and before it has moved the file,
// leaves the object of before.
func TestACrashBetweenRecordAndFileKeepsTheObject(t *testing.T) {
	t.Parallel()
	f, err := openFiles(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	if err := f.makeBucket("kept"); err != nil {
		t.Fatal(err)
	}
	s := &Server{files: f}
	body, err := s.store(strings.NewReader("hello"), func() string { return "5d41402abc4b2a76b9719d911017c592" })
	if err != nil {
		t.Fatal(err)
	}
	before := object{ETag: body.etag, User: map[string]string{"Run": "monday"}}
	if err := f.place(t.Context(), "kept", "a/b", body.name, &before, nil); err != nil {
		t.Fatal(err)
	}
	next := object{ETag: "e", Size: 5, Modified: before.Modified + 1}
	if err := f.writeRecord("kept", "a/b", next, before); err != nil {
		t.Fatal(err)
	}
	got, err := f.stat("kept", "a/b")
	if err != nil || got.ETag != before.ETag || got.User["Run"] != "monday" {
		t.Errorf("got %+v, %v", got, err)
	}
}
