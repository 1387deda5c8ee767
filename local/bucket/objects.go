package bucket

import (
	"crypto/md5" // what S3's ETags are
	"encoding/hex"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	copySource  = "X-Amz-Copy-Source"
	metaPrefix  = "X-Amz-Meta-"
	tagging     = "X-Amz-Tagging"
	contentType = "Content-Type"
	maxMetadata = 2 << 10
	defaultType = "binary/octet-stream"
)

// kept are the headers that come back with an object. A presigned URL may set them.
var kept = []string{contentType, "Content-Encoding", "Content-Disposition", "Content-Language", "Cache-Control", "Expires"}

// serveObject answers requests for one object.
func (s *Server) serveObject(w http.ResponseWriter, r *request) error {
	sub := r.sub()
	if sub == "tagging" {
		return s.serveTags(w, r)
	}
	if sub != "" {
		return errNotImplemented
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		return s.getObject(w, r)
	case http.MethodPut:
		if source := r.Header.Get(copySource); source != "" {
			return s.copyObject(w, r, source)
		}
		return s.putObject(w, r)
	case http.MethodDelete:
		if err := s.files.remove(r.bucket, r.key, ifMatch(r.Header.Get("If-Match"))); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return errMethod
}

// newObject reads the metadata of an object from a request.
func newObject(header http.Header) (*object, error) {
	o := object{Headers: map[string]string{}, User: map[string]string{}}
	for _, name := range kept {
		value := header.Get(name)
		if name == "Content-Encoding" {
			// aws-chunked belongs to the request.
			value = strings.Trim(strings.ReplaceAll(value, "aws-chunked", ""), ", ")
		}
		if value != "" {
			o.Headers[name] = value
		}
	}
	size := 0
	for name, values := range header {
		if user, found := strings.CutPrefix(name, metaPrefix); found {
			o.User[user] = strings.Join(values, ",")
			size += len(user) + len(o.User[user])
		}
	}
	if size > maxMetadata {
		return nil, errMetadata
	}
	if tags := header.Get(tagging); tags != "" {
		values, err := url.ParseQuery(tags)
		if err != nil {
			return nil, invalidArgument("x-amz-tagging is no query.")
		}
		o.Tags = values.Encode()
	}
	return &o, nil
}

// received is a body in a file that isn't visible yet.
type received struct {
	files *files
	name  string
	etag  string
}

// discard removes the file, unless it was moved.
func (r *received) discard() { _ = r.files.root.Remove(r.name) }

var buffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// receive writes the body of a request to a file.
func (s *Server) receive(r *request) (*received, error) {
	body, err := newPayload(r.Request, r.signature)
	if err == nil {
		err = body.expectSums(r.Header)
	}
	if err != nil {
		return nil, err
	}
	return s.store(body, func() string { return hex.EncodeToString(body.sum) })
}

// store writes a body to a file, and asks for its ETag then.
func (s *Server) store(body io.Reader, etag func() string) (*received, error) {
	file, name, err := s.files.partial()
	if err != nil {
		return nil, err
	}
	buffer := buffers.Get().(*[64 << 10]byte)
	defer buffers.Put(buffer)
	_, err = io.CopyBuffer(struct{ io.Writer }{file}, body, buffer[:])
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, errors.Join(err, s.files.root.Remove(name))
	}
	return &received{s.files, name, etag()}, nil
}

func (s *Server) putObject(w http.ResponseWriter, r *request) error {
	o, err := newObject(r.Header)
	if err != nil {
		return err
	}
	cond, err := writeCondition(r.Header)
	if err != nil {
		return err
	}
	body, err := s.receive(r)
	if err != nil {
		return err
	}
	defer body.discard()
	o.ETag = body.etag
	if isFolder(r.key) {
		if info, err := s.files.root.Stat(body.name); err != nil || info.Size() > 0 {
			return errors.Join(invalidArgument("The key ends in a slash: such an object is empty here."), err)
		}
	}
	if err := s.place(r, body, o, cond); err != nil {
		return err
	}
	w.Header().Set("Etag", quoted(o.ETag))
	return nil
}

// place stores a body as an object and sends its notification.
func (s *Server) place(r *request, body *received, o *object, cond condition) error {
	if err := s.files.place(r.Context(), r.bucket, r.key, body.name, o, cond); err != nil {
		return err
	}
	return s.created(r.Context(), r.bucket, r.key, o)
}

// parseSource reads the address that something is copied from.
func parseSource(source string) (bucket, key string, err error) {
	source, version, _ := strings.Cut(source, "?")
	if version != "" {
		return "", "", errNotImplemented
	}
	if source, err = url.PathUnescape(source); err != nil {
		return "", "", invalidArgument("x-amz-copy-source is no path.")
	}
	bucket, key, _ = strings.Cut(strings.TrimPrefix(source, "/"), "/")
	return bucket, key, checkKey(key)
}

// openSource opens what is to be copied, if the request's conditions allow.
func (s *Server) openSource(r *request, source string) (fs.File, *object, error) {
	bucket, key, err := parseSource(source)
	if err == nil {
		err = s.files.bucketExists(bucket)
	}
	if err != nil {
		return nil, nil, err
	}
	file, o, err := s.files.open(bucket, key)
	if err != nil {
		return nil, nil, err
	}
	if file == nil {
		return nil, nil, errNotImplemented
	}
	if err = conditions(r.Header, copySource+"-", o); err != nil {
		return nil, nil, errors.Join(precondition(err), file.Close())
	}
	return file, o, nil
}

// precondition returns the answer of a copy where a read would answer that the object has not
// changed.
func precondition(err error) error {
	if errors.Is(err, errNotModified) {
		return errPrecondition
	}
	return err
}

// receiveCopy writes an object, or a range of it, to a file.
func (s *Server) receiveCopy(r *request, source, bytes string) (*received, error) {
	file, o, err := s.openSource(r, source)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	from, length, _, err := readRange(bytes, o.Size)
	if err != nil {
		return nil, err
	}
	if _, err := file.(io.Seeker).Seek(from, io.SeekStart); err != nil {
		return nil, err
	}
	sum := md5.New()
	return s.store(io.TeeReader(io.LimitReader(file, length), sum), func() string { return hex.EncodeToString(sum.Sum(nil)) })
}

func (s *Server) copyObject(w http.ResponseWriter, r *request, source string) error {
	cond, err := writeCondition(r.Header)
	if err != nil {
		return err
	}
	given, err := newObject(r.Header)
	if err != nil {
		return err
	}
	file, old, err := s.openSource(r, source)
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	body, err := s.receiveCopy(r, source, "")
	if err != nil {
		return err
	}
	defer body.discard()
	o := &object{ETag: body.etag, Headers: old.Headers, User: old.User, Tags: old.Tags}
	if r.Header.Get("X-Amz-Metadata-Directive") == "REPLACE" {
		o.Headers, o.User = given.Headers, given.User
	}
	if r.Header.Get("X-Amz-Tagging-Directive") == "REPLACE" {
		o.Tags = given.Tags
	}
	if err := s.place(r, body, o, cond); err != nil {
		return err
	}
	writeCopyResult(w, "CopyObjectResult", o.ETag, o.modified())
	return nil
}

func writeCopyResult(w http.ResponseWriter, name, etag string, modified time.Time) {
	type document struct {
		XMLName            xml.Name
		LastModified, ETag string
	}
	writeXML(w, http.StatusOK, document{xml.Name{Space: namespace, Local: name}, modified.UTC().Format(xmlTime), quoted(etag)})
}

// getObject answers GET and HEAD.
func (s *Server) getObject(w http.ResponseWriter, r *request) error {
	file, o, err := s.files.open(r.bucket, r.key)
	if err != nil {
		return err
	}
	if file != nil {
		defer file.Close()
	}
	if err := conditions(r.Header, "", o); err != nil {
		return err
	}
	asked := r.Header.Get("Range")
	if match := r.Header.Get("If-Range"); match != "" && !matches(match, o.ETag) {
		asked = ""
	}
	from, length, part, err := readRange(asked, o.Size)
	if err != nil {
		w.Header().Set("Content-Range", "bytes */"+strconv.FormatInt(o.Size, 10))
		return err
	}
	s.describe(w.Header(), r, o)
	w.Header().Set("Content-Length", strconv.FormatInt(length, 10))
	if part {
		w.Header().Set("Content-Range", "bytes "+strconv.FormatInt(from, 10)+"-"+strconv.FormatInt(from+length-1, 10)+"/"+strconv.FormatInt(o.Size, 10))
		w.WriteHeader(http.StatusPartialContent)
	}
	if r.Method == http.MethodHead || length == 0 {
		return nil
	}
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		return err
	}
	if _, err := io.CopyN(w, file, length); err != nil && r.Context().Err() == nil {
		panic(http.ErrAbortHandler) // the answer has begun: ending the connection tells the client
	}
	return nil
}

// describe sets the headers of an object.
func (s *Server) describe(header http.Header, r *request, o *object) {
	header.Set("Etag", quoted(o.ETag))
	header.Set("Last-Modified", o.modified().Format(http.TimeFormat))
	header.Set("Accept-Ranges", "bytes")
	header.Set(contentType, defaultType)
	for _, name := range kept {
		value := o.Headers[name]
		if override := r.query.Get("response-" + strings.ToLower(name)); override != "" {
			value = override
		}
		if value != "" {
			header.Set(name, value)
		}
	}
	for name, value := range o.User {
		header.Set(metaPrefix+name, value)
	}
	if o.Tags != "" {
		header.Set("X-Amz-Tagging-Count", strconv.Itoa(strings.Count(o.Tags, "&")+1))
	}
}

// conditions returns those of a read: RFC 9110, section 13.2.2.
func conditions(header http.Header, prefix string, o *object) error {
	modified := o.modified().Truncate(time.Second)
	since := func(name string) (time.Time, bool) {
		t, err := http.ParseTime(header.Get(prefix + name))
		return t, err == nil
	}
	if match := header.Get(prefix + "If-Match"); match != "" {
		if !matches(match, o.ETag) {
			return errPrecondition
		}
	} else if t, given := since("If-Unmodified-Since"); given && modified.After(t) {
		return errPrecondition
	}
	if none := header.Get(prefix + "If-None-Match"); none != "" {
		if matches(none, o.ETag) {
			return errNotModified
		}
	} else if t, given := since("If-Modified-Since"); given && !modified.After(t) {
		return errNotModified
	}
	return nil
}

// readRange reads a header of one range. Others are answered with the whole object, as on S3; part
// is false then.
func readRange(header string, size int64) (from, length int64, part bool, err error) {
	text, found := strings.CutPrefix(header, "bytes=")
	first, last, dash := strings.Cut(text, "-")
	if !found || !dash || strings.Contains(text, ",") {
		return 0, size, false, nil
	}
	if first == "" {
		n, err := strconv.ParseInt(last, 10, 64)
		if err != nil {
			return 0, size, false, nil
		}
		if n = min(n, size); n == 0 {
			return 0, 0, false, errInvalidRange
		}
		return size - n, n, true, nil
	}
	if from, err = strconv.ParseInt(first, 10, 64); err != nil {
		return 0, size, false, nil
	}
	to := size - 1
	if last != "" {
		if to, err = strconv.ParseInt(last, 10, 64); err != nil || to < from {
			return 0, size, false, nil
		}
	}
	if from >= size {
		return 0, 0, false, errInvalidRange
	}
	return from, min(to, size-1) - from + 1, true, nil
}

// serveTags answers requests for an object's tags.
func (s *Server) serveTags(w http.ResponseWriter, r *request) error {
	type tag struct{ Key, Value string }
	type document struct {
		XMLName xml.Name `xml:"Tagging"`
		TagSet  struct{ Tag []tag }
	}
	var d document
	switch r.Method {
	case http.MethodGet:
		o, err := s.files.stat(r.bucket, r.key)
		if err != nil {
			return err
		}
		values, err := url.ParseQuery(o.Tags)
		if err != nil {
			return err
		}
		for key := range values {
			d.TagSet.Tag = append(d.TagSet.Tag, tag{key, values.Get(key)})
		}
		writeXML(w, http.StatusOK, d)
		return nil
	case http.MethodPut:
		if err := r.decodeXML(&d); err != nil {
			return err
		}
	case http.MethodDelete:
	default:
		return errMethod
	}
	values := url.Values{}
	for _, t := range d.TagSet.Tag {
		values.Set(t.Key, t.Value)
	}
	err := s.files.amend(r.bucket, r.key, func(o *object) { o.Tags = values.Encode() })
	if err == nil && r.Method == http.MethodDelete {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}
