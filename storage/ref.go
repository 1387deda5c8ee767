package storage

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrBadRef is in the chain of every error of ParseRef and Validate.
var ErrBadRef = errors.New("bad address")

const scheme = "s3://"

// Ref is the address of one object, or of a folder: s3://bucket/key. Keys are used verbatim; like
// TFX and the AWS command line, and unlike URLs, nothing is percent-encoded.
//
// A Ref returned by ParseRef is valid. Every Store checks a Ref that was made by hand or by Join.
type Ref struct {
	Bucket string
	Key    string // "" is the whole bucket; a key that ends in "/" is a folder and never a file
}

// ParseRef reads s3://bucket or s3://bucket/key.
func ParseRef(s string) (Ref, error) {
	rest, ok := strings.CutPrefix(s, scheme)
	if !ok {
		return Ref{}, fmt.Errorf("%w %q: expected s3://bucket/key", ErrBadRef, s)
	}
	bucket, key, _ := strings.Cut(rest, "/")
	ref := Ref{Bucket: bucket, Key: key}
	if err := ref.Validate(); err != nil {
		return Ref{}, err
	}
	return ref, nil
}

// String returns the form that ParseRef reads. The zero Ref is "".
func (r Ref) String() string {
	if r == (Ref{}) {
		return ""
	}
	if r.Key == "" {
		return scheme + r.Bucket
	}
	return scheme + r.Bucket + "/" + r.Key
}

// Join appends elements, separated by single slashes; an element may itself hold slashes. It
// resolves nothing: Validate rejects a "..". A trailing "/" of the last element is kept.
func (r Ref) Join(elem ...string) Ref {
	for _, e := range elem {
		if e = strings.TrimPrefix(e, "/"); e == "" {
			continue
		}
		if r.Key != "" && !strings.HasSuffix(r.Key, "/") {
			r.Key += "/"
		}
		r.Key += e
	}
	return r
}

// Folder returns the same address as a folder, as List needs it so that "a/b" does not match
// "a/bc".
func (r Ref) Folder() Ref {
	if r.Key != "" && !strings.HasSuffix(r.Key, "/") {
		r.Key += "/"
	}
	return r
}

// Below returns the path of r below folder; ok is false if r is not below it. A folder is not below
// itself.
func (r Ref) Below(folder Ref) (path string, ok bool) {
	path, ok = strings.CutPrefix(r.Key, folder.Folder().Key)
	return path, ok && path != "" && r.Bucket == folder.Bucket
}

// IsZero reports whether r is the zero Ref.
func (r Ref) IsZero() bool { return r == (Ref{}) }

// MarshalText implements encoding.TextMarshaler.
func (r Ref) MarshalText() ([]byte, error) {
	if r.IsZero() {
		return nil, nil
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	return []byte(r.String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler. An empty text is the zero Ref.
func (r *Ref) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		*r = Ref{}
		return nil
	}
	*r, err = ParseRef(string(text))
	return err
}

// Validate returns an error that says what is wrong with r, with ErrBadRef in its chain.
func (r Ref) Validate() error {
	if why := badBucket(r.Bucket); why != "" {
		return fmt.Errorf("%w %q: bucket %s", ErrBadRef, r.String(), why)
	}
	if why := badKey(r.Key); why != "" {
		return fmt.Errorf("%w %q: key %s", ErrBadRef, r.String(), why)
	}
	return nil
}

// badBucket applies the rules on which all S3 servers agree (S3 user guide, "General purpose bucket
// naming rules").
func badBucket(name string) string {
	const allowed = "abcdefghijklmnopqrstuvwxyz0123456789.-"
	switch {
	case len(name) < 3 || len(name) > 63:
		return "must have 3 to 63 characters"
	case strings.Trim(name, allowed) != "":
		return "may hold a-z, 0-9, . and - only"
	case strings.ContainsAny(name[:1]+name[len(name)-1:], ".-"):
		return "must begin and end with a letter or digit"
	case strings.Contains(name, ".."):
		return `holds ".."`
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return "looks like an IP address"
	}
	return ""
}

// badKey rejects every key that could name another location as a path, or that not every server
// would store.
func badKey(key string) string {
	if key == "" {
		return ""
	}
	if len(key) > 1024 {
		return "is longer than 1024 bytes"
	}
	if !utf8.ValidString(key) {
		return "is not UTF-8"
	}
	if strings.ContainsFunc(key, unicode.IsControl) {
		return "holds a control character"
	}
	for elem := range strings.SplitSeq(strings.TrimSuffix(key, "/"), "/") {
		switch {
		case elem == "":
			return "holds an empty element"
		case elem == "." || elem == "..":
			return fmt.Sprintf("holds the element %q", elem)
		case len(elem) > 255:
			return "holds an element longer than 255 bytes"
		}
	}
	return ""
}
