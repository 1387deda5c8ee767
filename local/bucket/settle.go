package bucket

import (
	"io"
	"sync"

	"github.com/versity/versitygw/s3api/middlewares"
)

// settle keeps deletes out of the last moment of writes, from the end of a body to the answer.
//
// An object's folder is made for it, and goes with its last object. In the moment between, versitygw would answer that the object is a
// folder, or, where a third makes that folder too, that it is stored though it isn't.
type settle struct{ sync.RWMutex }

// begin is for a write whose body is here. What it returns ends it.
func (s *settle) begin() (done func()) {
	s.RLock()
	return s.RUnlock
}

// atEnd returns body, at whose end a write begins to settle, and what ends that. A body that breaks off settles nothing.
func (s *settle) atEnd(body io.Reader) (_ io.Reader, done func()) {
	begun := false
	begin := func() {
		if !begun {
			s.RLock()
			begun = true
		}
	}
	done = func() {
		if begun {
			s.RUnlock()
		}
	}
	ends := endsReader{body, begin}
	if sum, ok := body.(middlewares.ChecksumReader); ok {
		return endsChecksumReader{ends, sum}, done
	}
	return ends, done
}

// endsReader tells of its end before its reader knows.
type endsReader struct {
	io.Reader
	atEnd func()
}

func (r endsReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err == io.EOF {
		r.atEnd()
	}
	return n, err
}

// endsChecksumReader is one whose checksum follows its body, which the backend asks it for.
type endsChecksumReader struct {
	endsReader
	sum middlewares.ChecksumReader
}

func (r endsChecksumReader) Algorithm() string { return r.sum.Algorithm() }
func (r endsChecksumReader) Checksum() string  { return r.sum.Checksum() }
