package s3

import (
	"errors"
	"fmt"
	"io"
)

// errShort is the caller's own mistake, so it must look like no broken connection. (minio-go looks for "EOF" in words.)
var errShort = errors.New("body is too short")

// exactly makes of a caller's body what minio-go should see: nothing to close, because it would; the means to send again or
// in parallel, if the caller gave them; and an error in place of an end that comes too early. size -1 is to the end.
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
