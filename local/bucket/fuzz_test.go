package bucket

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"strings"
	"testing"
)

// FuzzChunks decodes bodies in chunks: each ends as it declares, or with an error of S3's.
func FuzzChunks(f *testing.F) {
	for _, body := range []string{
		"5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n", "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", "5;chunk-signature=00\r\nhello\r\n0;chunk-signature=00\r\n\r\n",
		"-1\r\n", "7fffffffffffffff\r\nhello", "0\r\na:b", "hello", strings.Repeat("0", 9000) + "\r\n", "0\r\n" + strings.Repeat("\r\n", 99),
	} {
		f.Add([]byte(body), false, false)
		f.Add([]byte(body), true, false)
		f.Add([]byte(body), true, true)
	}
	f.Fuzz(func(t *testing.T, body []byte, trailing, signed bool) {
		c := &chunkReader{from: bufio.NewReaderSize(bytes.NewReader(body), 64<<10), trailing: trailing}
		if signed {
			c.verify, c.sum = &signature{}, sha256.New()
		}
		got, err := io.ReadAll(c)
		if len(got) > len(body) {
			t.Errorf("%d bytes of %d", len(got), len(body))
		}
		if signed && err == nil {
			t.Error("nobody has signed it")
		}
		if known := (*apiError)(nil); err != nil && !errors.As(err, &known) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("failed with %v", err)
		}
	})
}
