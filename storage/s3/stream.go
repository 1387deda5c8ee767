package s3

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/stoker-ml/stoker/storage"
)

var errLonger = errors.New("more bytes than the object has")

// stream is the body of one object. It knows how long it must be.
type stream struct {
	ctx  context.Context // the request's own, which this is the answer to; buffers would outlive it
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
