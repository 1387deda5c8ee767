package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/stoker-ml/stoker/storage"
)

// errShort is the caller's own mistake, so it must not look like a broken connection. (minio-go
// searches error texts for "EOF".)
var errShort = errors.New("body is too short")

// exactly wraps a caller's body for minio-go. It has no Close, because minio-go would call it; it
// can be sought or read in parallel if the caller's body can; and it returns an error if body ends
// too early. A size of -1 means to the end.
func exactly(body io.Reader, size int64) io.Reader {
	counted := &counted{r: body, size: size}
	seeker, canSeek := body.(io.Seeker)
	if !canSeek {
		return counted
	}
	again := &rewound{counted: counted, seeker: seeker}
	if at, ok := body.(io.ReaderAt); ok {
		return struct {
			*rewound
			io.ReaderAt
		}{again, at}
	}
	return again
}

type counted struct {
	r    io.Reader
	n    int64
	size int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if err == io.EOF && c.size >= 0 && c.n < c.size {
		err = fmt.Errorf("%w: %d of %d bytes", errShort, c.n, c.size)
	}
	return n, err
}

type rewound struct {
	*counted
	seeker io.Seeker
}

func (r *rewound) Seek(offset int64, whence int) (int64, error) {
	at, err := r.seeker.Seek(offset, whence)
	r.n = at
	return at, err
}

var errLonger = errors.New("more bytes than the object has")

// stream is the body of one object. It knows the length that it must have.
type stream struct {
	ctx  context.Context // of the request to which this is the answer; buffers would outlive it
	ref  storage.Ref
	body io.ReadCloser
	left int64
}

func (s *stream) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, fault(s.ctx, "read", s.ref, err)
	}
	n, err := s.body.Read(p)
	s.left -= int64(n)
	switch {
	case s.left < 0:
		return n, fmt.Errorf("read %s: %w", s.ref, errLonger)
	case err == nil, err == io.EOF && s.left == 0:
		return n, err
	case err == io.EOF:
		err = io.ErrUnexpectedEOF
	}
	return n, fault(s.ctx, "read", s.ref, fmt.Errorf("%d bytes are missing: %w", s.left, err))
}

func (s *stream) Close() error { return s.body.Close() }

// wire sends requests so that the connection stays in step.
type wire struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (w wire) RoundTrip(req *http.Request) (*http.Response, error) {
	req, err := sized(req)
	if err != nil {
		return nil, err
	}
	answer, err := w.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if err := outOfStep(answer); err != nil {
		return nil, err
	}
	return answer, nil
}

// sized gives a length to the request that minio-go sends for an empty object: no data, but a
// signature, which net/http would send in HTTP chunks. versitygw reads the signature but not the
// end of the chunks. It takes that end for the next request, and answers 400 on an idle connection,
// or to the next request on it.
func sized(req *http.Request) (*http.Request, error) {
	if req.ContentLength != 0 || req.Body == nil || req.Body == http.NoBody {
		return req, nil
	}
	body, err := io.ReadAll(req.Body)
	if err = errors.Join(err, req.Body.Close()); err != nil {
		return nil, fmt.Errorf("read request body: %w", err)
	}
	again := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	out := *req // a shallow copy, as http.RoundTripper asks for
	out.ContentLength, out.GetBody = int64(len(body)), again
	out.Body, _ = again()
	return &out, nil
}

// unparsed is versitygw's error for bytes that are not a request: whatever was requested has not
// been done.
const unparsed = "An error occurred when parsing the HTTP request"

var errOutOfStep = errors.New("the server could not parse the request")

// outOfStep turns that answer into a broken connection, so that the request is tried again on
// another one.
func outOfStep(answer *http.Response) error {
	if answer.StatusCode != http.StatusBadRequest || !answer.Close {
		return nil
	}
	head, err := io.ReadAll(io.LimitReader(answer.Body, 4<<10))
	if err == nil && !strings.Contains(string(head), unparsed) {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(head), answer.Body), answer.Body}
		return nil
	}
	return errors.Join(errOutOfStep, err, answer.Body.Close())
}
