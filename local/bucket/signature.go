package bucket

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Signature version 4, as "Authenticating Requests (AWS Signature Version 4)" in the S3 API
// reference defines it.

const (
	algorithm     = "AWS4-HMAC-SHA256"
	signedTime    = "20060102T150405Z"
	maxSkew       = 15 * time.Minute
	maxPresigned  = 7 * 24 * time.Hour
	emptySHA256   = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	contentSHA256 = "X-Amz-Content-Sha256"
)

// signature is the signature that a request contains, with its parameters.
type signature struct {
	accessKey string
	day       string // of the credential's scope: 20060102
	scope     string // day/region/s3/aws4_request
	time      string // as it was signed
	headers   []string
	value     string // hex
	expires   time.Duration
	presigned bool
	key       []byte // to sign with, once the request is verified
}

// authenticate verifies that r was signed with creds at a time near now. It doesn't read the body:
// payload does.
func authenticate(r *http.Request, creds Credentials, now time.Time) (*signature, error) {
	s, err := readSignature(r)
	if err != nil {
		return nil, err
	}
	if s.accessKey != creds.AccessKey {
		return nil, errAccessKey
	}
	at, err := time.Parse(signedTime, s.time)
	if err != nil || at.Format("20060102") != s.day {
		return nil, errMalformedSignature
	}
	if s.presigned {
		if at.Add(-maxSkew).After(now) || now.After(at.Add(s.expires)) {
			return nil, errExpired
		}
	} else if now.Sub(at).Abs() > maxSkew {
		return nil, errSkewed
	}
	if err := s.coversHeaders(r); err != nil {
		return nil, err
	}
	s.key = []byte("AWS4" + creds.SecretKey)
	for part := range strings.SplitSeq(s.scope, "/") {
		s.key = mac(s.key, part)
	}
	if !s.matches(algorithm, hexSHA256(s.canonicalRequest(r)), s.value) {
		return nil, errSignature
	}
	return s, nil
}

// readSignature reads the Authorization header, or the query of a presigned URL.
func readSignature(r *http.Request) (*signature, error) {
	query := r.URL.Query()
	header := r.Header.Get("Authorization")
	var s signature
	var credential, headers string
	switch {
	case header != "":
		rest, found := strings.CutPrefix(header, algorithm+" ")
		if !found {
			return nil, errMalformedSignature
		}
		for field := range strings.SplitSeq(rest, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
			switch name {
			case "Credential":
				credential = value
			case "SignedHeaders":
				headers = value
			case "Signature":
				s.value = value
			}
		}
		s.time = r.Header.Get("X-Amz-Date")
	case query.Get("X-Amz-Algorithm") == algorithm:
		seconds, err := strconv.Atoi(query.Get("X-Amz-Expires"))
		if err != nil || seconds <= 0 || time.Duration(seconds) > maxPresigned/time.Second {
			return nil, errMalformedSignature
		}
		s.presigned, s.expires = true, time.Duration(seconds)*time.Second
		credential, headers = query.Get("X-Amz-Credential"), query.Get("X-Amz-SignedHeaders")
		s.value, s.time = query.Get("X-Amz-Signature"), query.Get("X-Amz-Date")
	default:
		return nil, errAccessDenied
	}
	var found bool
	s.accessKey, s.scope, found = strings.Cut(credential, "/")
	scope := strings.Split(s.scope, "/")
	if !found || len(scope) != 4 || scope[2] != "s3" || scope[3] != "aws4_request" || s.value == "" || headers == "" {
		return nil, errMalformedSignature
	}
	s.day, s.headers = scope[0], strings.Split(headers, ";")
	return &s, nil
}

// coversHeaders returns an error if a header that changes what the request does is not signed.
func (s *signature) coversHeaders(r *http.Request) error {
	if !slices.Contains(s.headers, "host") || !slices.IsSorted(s.headers) {
		return errUnsignedHeader
	}
	for name := range r.Header {
		if name = strings.ToLower(name); strings.HasPrefix(name, "x-amz-") && !slices.Contains(s.headers, name) {
			return errUnsignedHeader
		}
	}
	return nil
}

// payload returns the hash of the body that is signed, or the keyword in its place.
func (s *signature) payload(r *http.Request) string {
	if value := r.Header.Get(contentSHA256); value != "" {
		return value
	}
	if s.presigned {
		return unsignedPayload
	}
	return emptySHA256
}

func (s *signature) canonicalRequest(r *http.Request) string {
	var b strings.Builder
	b.WriteString(r.Method + "\n" + escape(r.URL.Path, true) + "\n" + canonicalQuery(r.URL.Query()) + "\n")
	for _, name := range s.headers {
		b.WriteString(name + ":" + headerValue(r, name) + "\n")
	}
	b.WriteString("\n" + strings.Join(s.headers, ";") + "\n" + s.payload(r))
	return b.String()
}

// headerValue returns a header as it was sent. net/http keeps some of them elsewhere.
func headerValue(r *http.Request, name string) string {
	switch name {
	case "host":
		return r.Host
	case "content-length":
		return strconv.FormatInt(r.ContentLength, 10)
	case "transfer-encoding":
		return strings.Join(r.TransferEncoding, ",")
	}
	values := slices.Clone(r.Header.Values(name))
	for i, value := range values {
		values[i] = strings.Join(strings.Fields(value), " ")
	}
	return strings.Join(values, ",")
}

func canonicalQuery(query url.Values) string {
	var pairs []string
	for name, values := range query {
		if name == "X-Amz-Signature" {
			continue
		}
		for _, value := range values {
			pairs = append(pairs, escape(name, false)+"="+escape(value, false))
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}

// escape returns the specification's UriEncode: all but unreserved characters in percents, and
// slashes too unless it is a path.
func escape(s string, path bool) string {
	const upper = "0123456789ABCDEF"
	var b strings.Builder
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~", c) >= 0, path && c == '/':
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', upper[c>>4], upper[c&15]})
		}
	}
	return b.String()
}

// matches verifies one signature over a time, a scope and the rest.
func (s *signature) matches(kind, rest, value string) bool {
	want := hex.EncodeToString(mac(s.key, kind+"\n"+s.time+"\n"+s.scope+"\n"+rest))
	return hmac.Equal([]byte(want), []byte(value))
}

func mac(key []byte, data string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(data))
	return h.Sum(nil)
}

func hexSHA256(data string) string {
	sum := sha256.Sum256([]byte(data))
	return hex.EncodeToString(sum[:])
}
