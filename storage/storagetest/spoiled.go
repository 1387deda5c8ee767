package storagetest

import "io"

// spoiled is a stream with a fault in it.
type spoiled struct {
	r     io.Reader
	close func() error
	fault Fault
	n     int64 // bytes returned
}

func (s *spoiled) Read(p []byte) (int, error) {
	for _, end := range []struct {
		at  int64
		err error
	}{{s.fault.ResetAt, errReset}, {s.fault.TruncateAt, io.EOF}} {
		if end.at == 0 {
			continue
		}
		left := end.at - 1 - s.n
		if left <= 0 {
			return 0, end.err
		}
		p = p[:min(int64(len(p)), left)]
	}
	n, err := s.r.Read(p)
	if i := s.fault.FlipAt - 1 - s.n; s.fault.FlipAt > 0 && 0 <= i && i < int64(n) {
		p[i] ^= 1
	}
	s.n += int64(n)
	return n, err
}

func (s *spoiled) Close() error { return s.close() }
