package s3

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// wire sends requests so that the connection is in step afterwards.
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

// sized gives a length to what minio-go sends for an empty object: no data, but a signature, which net/http would send in
// HTTP chunks. versitygw reads the signature and not the end of the chunks, takes that for the next request, and answers 400
// on a connection that waits for nothing, or to whoever uses it next.
func sized(req *http.Request) (*http.Request, error) {
	if req.ContentLength != 0 || req.Body == nil || req.Body == http.NoBody {
		return req, nil
	}
	body, err := io.ReadAll(req.Body)
	if err = errors.Join(err, req.Body.Close()); err != nil {
		return nil, fmt.Errorf("read what is to be sent: %w", err)
	}
	again := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	out := *req // a shallow copy, as http.RoundTripper asks for
	out.ContentLength, out.GetBody = int64(len(body)), again
	out.Body, _ = again()
	return &out, nil
}

// unparsed is what versitygw says of bytes in which it finds no request: whatever was asked has not been done.
const unparsed = "An error occurred when parsing the HTTP request"

var errOutOfStep = errors.New("the server found no request in what was sent")

// outOfStep makes that answer a broken connection, which is tried again on another.
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
