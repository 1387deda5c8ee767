package s3

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/stoker-ml/stoker/storage"
)

// stream is the body of one object. It knows how long it must be.
type stream struct {
	ref  storage.Ref
	body io.ReadCloser
	left int64
}

func (s *stream) Read(p []byte) (int, error) {
	n, err := s.body.Read(p)
	s.left -= int64(n)
	switch {
	case err == nil && s.left >= 0:
		return n, nil
	case err == io.EOF && s.left == 0:
		return n, io.EOF
	case s.left < 0:
		return n, fmt.Errorf("read %s: more bytes than the object has", s.ref)
	case err == io.EOF:
		err = io.ErrUnexpectedEOF
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return n, fmt.Errorf("read %s: %w", s.ref, err)
	}
	err = fmt.Errorf("%d bytes are missing: %w", s.left, err)
	return n, fault(context.Background(), "read", s.ref, err)
}

func (s *stream) Close() error { return s.body.Close() }
