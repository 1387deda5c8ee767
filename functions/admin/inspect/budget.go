package inspect

import (
	"errors"
	"io"
)

// errLimit ends the reading of a file.
var errLimit = errors.New("limit reached")

// budget is how many bytes may still be read of streams.
type budget struct {
	limited bool
	left    int64
	read    int64
}

func (o Options) budget() *budget { return &budget{limited: o.Limit > 0, left: o.Limit} }

// reader returns the content of in until the budget is spent: then errLimit.
func (b *budget) reader(in io.Reader) io.Reader { return &limitedReader{in, b} }

type limitedReader struct {
	in io.Reader
	of *budget
}

func (r *limitedReader) Read(p []byte) (int, error) {
	if r.of.limited {
		if r.of.left <= 0 {
			return 0, errLimit
		}
		p = p[:min(int64(len(p)), r.of.left)]
	}
	n, err := r.in.Read(p)
	r.of.left -= int64(n)
	r.of.read += int64(n)
	return n, err
}
