package bucket

import (
	"encoding/xml"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	requestID = "X-Amz-Request-Id"
	namespace = "http://s3.amazonaws.com/doc/2006-03-01/"
	xmlTime   = "2006-01-02T15:04:05.000Z"
	maxKeys   = 1000
)

// request is one that is signed, and what it is about.
type request struct {
	*http.Request
	bucket, key string
	query       url.Values
	signature   *signature
}

// decodeXML verifies the body and reads it into v.
func (r *request) decodeXML(v any) error {
	body, err := newPayload(r.Request, r.signature)
	if err == nil {
		err = body.expectSums(r.Header)
	}
	if err != nil {
		return err
	}
	return body.decodeXML(v)
}

// split separates the bucket from the key in a path.
func split(r *http.Request) (bucket, key string) {
	bucket, key, _ = strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	return bucket, key
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(requestID, fmt.Sprintf("%016X", s.requests.Add(1)))
	signed, err := authenticate(r, s.creds, time.Now())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	q := &request{Request: r, query: r.URL.Query(), signature: signed}
	q.bucket, q.key = split(r)
	if err := s.serve(w, q); err != nil {
		s.fail(w, r, err)
	}
}

func (s *Server) serve(w http.ResponseWriter, r *request) error {
	switch {
	case r.bucket == "" && r.Method == http.MethodGet:
		return s.listBuckets(w, r)
	case r.bucket == "":
		return errMethod
	case r.key == "" && r.Method == http.MethodPut && r.only():
		return s.createBucket(w, r)
	}
	if err := s.files.bucketExists(r.bucket); err != nil {
		return err
	}
	if r.key == "" {
		return s.serveBucket(w, r)
	}
	if err := checkKey(r.key); err != nil {
		return err
	}
	if r.query.Has("uploadId") || r.query.Has("uploads") {
		return s.serveUpload(w, r)
	}
	return s.serveObject(w, r)
}

// subresources are the words of queries that ask for something else than an object or a listing.
var subresources = []string{
	"accelerate", "acl", "analytics", "attributes", "cors", "delete", "encryption", "intelligent-tiering", "inventory", "legal-hold",
	"lifecycle", "location", "logging", "metrics", "notification", "object-lock", "ownershipControls", "policy", "policyStatus",
	"publicAccessBlock", "replication", "requestPayment", "restore", "retention", "select", "tagging", "torrent", "uploads", "versioning",
	"versions", "website",
}

// sub returns the requested subresource, "" for the object or the bucket itself.
func (r *request) sub() string {
	for _, name := range subresources {
		if r.query.Has(name) {
			return name
		}
	}
	return ""
}

func (r *request) only() bool { return r.sub() == "" }

// serveBucket answers requests for an existing bucket.
func (s *Server) serveBucket(w http.ResponseWriter, r *request) error {
	switch sub := r.sub(); {
	case sub == "" && r.Method == http.MethodHead:
		return nil
	case sub == "" && r.Method == http.MethodGet:
		return s.listObjects(w, r)
	case sub == "" && r.Method == http.MethodDelete:
		if err := s.files.removeBucket(r.bucket); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	case sub == "delete" && r.Method == http.MethodPost:
		return s.deleteObjects(w, r)
	case r.Method != http.MethodGet:
		return errNotImplemented
	case sub == "uploads":
		return s.listUploads(w, r)
	case sub == "location":
		type document struct {
			XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ LocationConstraint"`
		}
		writeXML(w, http.StatusOK, document{})
		return nil
	case sub == "versioning":
		type document struct {
			XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ VersioningConfiguration"`
		}
		writeXML(w, http.StatusOK, document{})
		return nil
	case notSet[sub] != nil:
		return notSet[sub]
	}
	return errNotImplemented
}

func (s *Server) createBucket(w http.ResponseWriter, r *request) error {
	body, err := newPayload(r.Request, r.signature)
	if err != nil {
		return err
	}
	if _, err := body.readAll(); err != nil { // any region is accepted
		return err
	}
	if err := s.files.makeBucket(r.bucket); err != nil {
		return err
	}
	w.Header().Set("Location", "/"+r.bucket)
	return nil
}

func (s *Server) listBuckets(w http.ResponseWriter, r *request) error {
	entries, err := fs.ReadDir(s.files.root.FS(), bucketsDir)
	if err != nil {
		return err
	}
	type bucket struct{ Name, CreationDate string }
	type document struct {
		XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListAllMyBucketsResult"`
		Owner   struct{ ID, DisplayName string }
		Buckets struct{ Bucket []bucket }
		Prefix  string `xml:",omitempty"`
	}
	var d document
	d.Owner.ID, d.Owner.DisplayName, d.Prefix = s.creds.AccessKey, "stoker", r.query.Get("prefix")
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && info.IsDir() && strings.HasPrefix(entry.Name(), d.Prefix) {
			d.Buckets.Bucket = append(d.Buckets.Bucket, bucket{entry.Name(), info.ModTime().UTC().Format(xmlTime)})
		}
	}
	writeXML(w, http.StatusOK, d)
	return nil
}

// number reads a number of a query, which is 0 to most.
func (r *request) number(name string, most int) (int, error) {
	text := r.query.Get(name)
	if text == "" {
		return most, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, invalidArgument(name + " must be a number from 0.")
	}
	return min(n, most), nil
}

// listDocument is the answer to ListObjects and ListObjectsV2.
type listDocument struct {
	XMLName                                                          xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListBucketResult"`
	Name, Prefix                                                     string
	Delimiter, EncodingType                                          string `xml:",omitempty"`
	MaxKeys                                                          int
	KeyCount                                                         *int
	IsTruncated                                                      bool
	Marker                                                           *string
	NextMarker, StartAfter, ContinuationToken, NextContinuationToken string `xml:",omitempty"`
	Contents                                                         []documentObject
	CommonPrefixes                                                   []documentPrefix
}

type documentObject struct {
	Key, LastModified, ETag string
	Size                    int64
	StorageClass            string
}

type documentPrefix struct{ Prefix string }

// listObjects answers ListObjects and ListObjectsV2.
func (s *Server) listObjects(w http.ResponseWriter, r *request) error {
	most, err := r.number("max-keys", maxKeys)
	if err != nil {
		return err
	}
	text := func(s string) string { return s }
	encoding := r.query.Get("encoding-type")
	switch encoding {
	case "":
	case "url":
		text = func(s string) string { return escape(s, true) }
	default:
		return invalidArgument("encoding-type must be url.")
	}
	second := r.query.Get("list-type") == "2"
	l := listing{prefix: r.query.Get("prefix"), delimiter: r.query.Get("delimiter"), after: r.query.Get("marker"), max: most}
	if second {
		l.after = r.query.Get("start-after")
		if token := r.query.Get("continuation-token"); token != "" {
			if l.after, err = url.PathUnescape(token); err != nil {
				return invalidArgument("continuation-token is none that this server has given.")
			}
		}
	}
	page, err := s.files.list(r.bucket, l)
	if err != nil {
		return err
	}
	d := listDocument{
		Name: r.bucket, Prefix: text(l.prefix), Delimiter: text(l.delimiter), EncodingType: encoding, MaxKeys: most, IsTruncated: page.more,
	}
	if second {
		count := len(page.objects) + len(page.prefixes)
		d.KeyCount, d.StartAfter, d.ContinuationToken = &count, text(r.query.Get("start-after")), r.query.Get("continuation-token")
		d.NextContinuationToken = escape(page.next, false)
	} else {
		marker := text(l.after)
		d.Marker, d.NextMarker = &marker, text(page.next)
	}
	for _, o := range page.objects {
		d.Contents = append(d.Contents, documentObject{text(o.key), o.modified().Format(xmlTime), quoted(o.ETag), o.Size, "STANDARD"})
	}
	for _, p := range page.prefixes {
		d.CommonPrefixes = append(d.CommonPrefixes, documentPrefix{text(p)})
	}
	writeXML(w, http.StatusOK, d)
	return nil
}

func quoted(etag string) string { return `"` + etag + `"` }

// deleteObjects deletes up to 1,000.
func (s *Server) deleteObjects(w http.ResponseWriter, r *request) error {
	var asked struct {
		Quiet  bool
		Object []struct{ Key, ETag string }
	}
	if err := r.decodeXML(&asked); err != nil {
		return err
	}
	if len(asked.Object) > maxKeys {
		return errMalformedXML
	}
	type deleted struct{ Key string }
	type failed struct{ Key, Code, Message string }
	type document struct {
		XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ DeleteResult"`
		Deleted []deleted
		Error   []failed
	}
	var d document
	for _, o := range asked.Object {
		err := checkKey(o.Key)
		if err == nil {
			err = s.files.remove(r.bucket, o.Key, ifMatch(o.ETag))
		}
		if err != nil {
			answer := s.answer(r.Request, err)
			d.Error = append(d.Error, failed{o.Key, answer.code, answer.message})
		} else if !asked.Quiet {
			d.Deleted = append(d.Deleted, deleted{o.Key})
		}
	}
	writeXML(w, http.StatusOK, d)
	return nil
}

// ifMatch returns the condition of a delete; "": there is none.
func ifMatch(etag string) condition {
	if etag == "" {
		return nil
	}
	return func(current *object) error {
		if current == nil {
			return errNoKey
		}
		if !matches(etag, current.ETag) {
			return errPrecondition
		}
		return nil
	}
}

// matches reports whether an ETag is among those of a header, or the header is *.
func matches(header, etag string) bool {
	if strings.TrimSpace(header) == "*" {
		return true
	}
	return slices.ContainsFunc(strings.Split(header, ","), func(one string) bool {
		return strings.Trim(strings.TrimPrefix(strings.TrimSpace(one), "W/"), `"`) == etag
	})
}

// writeCondition reads If-None-Match and If-Match of a write.
func writeCondition(header http.Header) (condition, error) {
	none, match := header.Get("If-None-Match"), header.Get("If-Match")
	switch {
	case none == "" && match == "":
		return nil, nil
	case none != "" && (none != "*" || match != ""):
		return nil, errNotImplemented // as on S3
	case none != "":
		return func(current *object) error {
			if current != nil {
				return errPrecondition
			}
			return nil
		}, nil
	}
	return ifMatch(match), nil
}
