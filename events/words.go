package events

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Patterns of single values. The JSON Schemas use the same patterns.
const (
	namePattern   = `^[a-z0-9][a-z0-9-]*$`
	classPattern  = `^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	digestPattern = `^sha256:[0-9a-f]{64}$`
	jobIDPattern  = `^[A-Za-z0-9_-]{1,128}$`
	splitPattern  = `^[A-Za-z0-9_][A-Za-z0-9_.-]*$`
	// uriPattern: every element of the key is not empty, not "." and not ".."; a trailing slash is
	// allowed; there are no control characters. It needs no look-ahead, so that every JSON Schema
	// engine agrees.
	uriPattern = `^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/` + uriElement + `)+/?$`
	uriElement = `(\.?\.?[^/.\x00-\x1f\x7f-\x9f][^/\x00-\x1f\x7f-\x9f]*|\.\.\.[^/\x00-\x1f\x7f-\x9f]*)`

	// filesPattern is the same for a relative path, which may hold * ? and [ ], as in TensorFlow's
	// globs, and no \.
	filesPattern = `^` + filesElement + `(/` + filesElement + `)*$`
	filesElement = `(\.?\.?[^/.\\\x00-\x1f\x7f-\x9f][^/\\\x00-\x1f\x7f-\x9f]*|\.\.\.[^/\\\x00-\x1f\x7f-\x9f]*)`

	maxName   = 63   // bytes: a DNS label, so that names can be used for Kubernetes objects
	maxClass  = 21   // bytes: a class is a part of such names, next to a release and a function
	maxRun    = 256  // bytes, as UTF-8
	maxID     = 256  // bytes
	maxURI    = 1100 // bytes: S3's 1024 for the key, 63 for the bucket, and s3://
	maxSource = 1024 // bytes

	maxExtensions = 64   // per event
	maxExtension  = 4096 // bytes

	maxTraceState = 512 // bytes, which W3C Trace Context requires everyone to pass on
)

var (
	nameRE   = regexp.MustCompile(namePattern)
	classRE  = regexp.MustCompile(classPattern)
	digestRE = regexp.MustCompile(digestPattern)
	jobIDRE  = regexp.MustCompile(jobIDPattern)
	splitRE  = regexp.MustCompile(splitPattern)
	uriRE    = regexp.MustCompile(uriPattern)
)

// CheckName validates the name of a pipeline, a consumer or a worker: a-z, 0-9 and -, 1 to 63
// bytes, not beginning with -.
func CheckName(field, name string) error {
	if len(name) > maxName || !nameRE.MatchString(name) {
		return invalid(field, "1 to 63 characters of a-z, 0-9 and -, beginning with a letter or digit", name)
	}
	return nil
}

// CheckClass validates the name of a resource class: a-z, 0-9 and -, 1 to 21 bytes, beginning and
// ending with a letter or digit. Kubernetes takes it as the value of a label, and the chart's names
// end with it.
func CheckClass(field, class string) error {
	if len(class) > maxClass || !classRE.MatchString(class) {
		return invalid(field, "1 to 21 characters of a-z, 0-9 and -, beginning and ending with a letter or digit", class)
	}
	return nil
}

// CheckJobID validates the id of a job: 1 to 128 letters, digits, _ and -, so that it is one token
// of a subject.
func CheckJobID(field, id string) error {
	if !jobIDRE.MatchString(id) {
		return invalid(field, "1 to 128 letters, digits, _ and -", id)
	}
	return nil
}

// CheckRun validates a run key: any UTF-8 without control characters, 1 to 256 bytes.
func CheckRun(field, run string) error { return checkText(field, run, maxRun) }

// CheckURI validates the address of an artifact. An empty one is invalid too; optional addresses
// are checked by optionalURI.
func CheckURI(field, uri string) error {
	if len(uri) > maxURI || !utf8.ValidString(uri) || !uriRE.MatchString(uri) {
		return invalid(field, `an address s3://bucket/key (bucket: 3 to 63 of a-z, 0-9, . and -; no empty, "." or ".." element; no control characters)`, uri)
	}
	return nil
}

func optionalURI(field, uri string) error {
	if uri == "" {
		return nil
	}
	return CheckURI(field, uri)
}

func checkDigest(field, digest string) error {
	if !digestRE.MatchString(digest) {
		return invalid(field, "sha256: followed by 64 hexadecimal digits", digest)
	}
	return nil
}

func optionalDigest(field, digest string) error {
	if digest == "" {
		return nil
	}
	return checkDigest(field, digest)
}

// checkText validates a String of CloudEvents: no control characters, no surrogates, no
// noncharacters.
func checkText(field, text string, maxBytes int) error {
	if text == "" || len(text) > maxBytes || !utf8.ValidString(text) || strings.ContainsFunc(text, notCloudEventsString) {
		return invalid(field, fmt.Sprintf("1 to %d bytes of UTF-8 without control characters", maxBytes), text)
	}
	return nil
}

func notCloudEventsString(r rune) bool {
	return unicode.IsControl(r) || r&0xfffe == 0xfffe || (r >= 0xfdd0 && r <= 0xfdef)
}

// checkPlain validates text that all CloudEvents implementations carry unchanged through a header:
// visible ASCII without % and quotes.
func checkPlain(field, text string, maxBytes int) error {
	if text == "" || len(text) > maxBytes || strings.ContainsFunc(text, notPlain) {
		return invalid(field, fmt.Sprintf("1 to %d visible ASCII characters without %%, quotes and spaces", maxBytes), text)
	}
	return nil
}

func optionalPlain(field, text string, maxBytes int) error {
	if text == "" {
		return nil
	}
	return checkPlain(field, text, maxBytes)
}

func notPlain(r rune) bool { return r <= ' ' || r >= 0x7f || r == '%' || r == '"' || r == '\'' }

// checkOneOf accepts the empty string as the default, and describes it so.
func checkOneOf(field, got string, allowed ...string) error {
	if got == "" || slices.Contains(allowed, got) {
		return nil
	}
	return invalid(field, strings.Join(allowed, " or "), got)
}

func checkFinite(field string, value float64) error {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return invalid(field, "a finite number", fmt.Sprint(value))
	}
	return nil
}

func checkCount(field string, count int64) error {
	if count < 0 {
		return invalid(field, "0 or more", fmt.Sprint(count))
	}
	return nil
}
