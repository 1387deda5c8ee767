package bucket

import (
	"bufio"
	"bytes"
	"crypto/md5" // what S3's ETags and Content-MD5 are
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Values of x-amz-content-sha256 that replace a hash ("Transferring payload in multiple chunks" in
// the S3 API reference).
const (
	unsignedPayload  = "UNSIGNED-PAYLOAD"
	signedChunks     = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
	signedTrailer    = signedChunks + "-TRAILER"
	unsignedTrailer  = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
	chunkAlgorithm   = algorithm + "-PAYLOAD"
	trailerAlgorithm = algorithm + "-TRAILER"
	maxChunkHeader   = 4 << 10
	maxTrailers      = 16 // lines; clients send a checksum and a signature
)

const checksumPrefix = "X-Amz-Checksum-"

// checksums that a client may send in the headers or behind its body, by the end of their header's
// name.
var checksums = map[string]func() hash.Hash{
	"Crc32":     func() hash.Hash { return crc32.NewIEEE() },
	"Crc32c":    func() hash.Hash { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) },
	"Crc64nvme": func() hash.Hash { return crc64.New(crc64.MakeTable(0x9a6c9329ac4bc9b5)) },
	"Sha1":      sha1.New,
	"Sha256":    sha256.New,
}

// payload is the body of a request: Read returns its decoded bytes, and io.EOF only if they are all
// that was signed, of the length and with the checksums that the request names.
type payload struct {
	size    int64 // decoded bytes
	from    io.Reader
	chunks  *chunkReader // nil where the body is sent as it is
	read    int64
	md5     hash.Hash
	sums    []hash.Hash
	checks  []func() error // at the end
	sum     []byte         // MD5, at the end
	failure error
}

// newPayload returns the body of r, which s has authenticated. Its size must be known.
func newPayload(r *http.Request, s *signature) (*payload, error) {
	p := &payload{size: r.ContentLength, from: r.Body, md5: md5.New()}
	p.sums = append(p.sums, p.md5)
	switch kind := s.payload(r); kind {
	case unsignedPayload:
	case signedChunks, signedTrailer, unsignedTrailer:
		size, err := strconv.ParseInt(r.Header.Get("X-Amz-Decoded-Content-Length"), 10, 64)
		if err != nil {
			return nil, errMissingLength
		}
		p.size, p.chunks = size, &chunkReader{from: bufio.NewReaderSize(r.Body, 64<<10), trailing: kind != signedChunks}
		if kind != unsignedTrailer {
			p.chunks.verify, p.chunks.previous, p.chunks.sum = s, s.value, sha256.New()
		}
		p.from = p.chunks
	default:
		want, err := hex.DecodeString(kind)
		if err != nil || len(want) != sha256.Size {
			return nil, invalidArgument("x-amz-content-sha256 is no SHA-256")
		}
		p.check(sha256.New(), errContentSHA256, func() ([]byte, bool) { return want, true })
	}
	if p.size < 0 {
		return nil, errMissingLength
	}
	return p, nil
}

// expectSums compares the body with what its headers and trailers promise.
func (p *payload) expectSums(header http.Header) error {
	if value := header.Get("Content-Md5"); value != "" {
		want, err := base64.StdEncoding.DecodeString(value)
		if err != nil || len(want) != md5.Size {
			return errInvalidDigest
		}
		p.compare(p.md5, errBadDigest, func() ([]byte, bool) { return want, true })
	}
	for name, make := range checksums {
		name := checksumPrefix + name
		if value := header.Get(name); value != "" {
			want, err := base64.StdEncoding.DecodeString(value)
			if err != nil {
				return errInvalidDigest
			}
			p.check(make(), errBadDigest, func() ([]byte, bool) { return want, true })
		}
		if p.chunks != nil && strings.EqualFold(strings.TrimSpace(header.Get("X-Amz-Trailer")), name) {
			p.check(make(), errBadDigest, func() ([]byte, bool) {
				want, err := base64.StdEncoding.DecodeString(p.chunks.trailers[strings.ToLower(name)])
				return want, err == nil
			})
		}
	}
	return nil
}

func (p *payload) check(sum hash.Hash, failure error, want func() ([]byte, bool)) {
	p.sums = append(p.sums, sum)
	p.compare(sum, failure, want)
}

func (p *payload) compare(sum hash.Hash, failure error, want func() ([]byte, bool)) {
	p.checks = append(p.checks, func() error {
		if value, ok := want(); !ok || !bytes.Equal(value, sum.Sum(nil)) {
			return failure
		}
		return nil
	})
}

// Read implements io.Reader.
func (p *payload) Read(b []byte) (int, error) {
	if p.failure != nil {
		return 0, p.failure
	}
	n, err := p.from.Read(b)
	p.read += int64(n)
	for _, sum := range p.sums {
		sum.Write(b[:n])
	}
	switch {
	case p.read > p.size:
		err = errIncomplete
	case err == io.EOF:
		err = p.end()
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = errIncomplete
	}
	p.failure = err
	return n, err
}

func (p *payload) end() error {
	if p.read != p.size {
		return errIncomplete
	}
	for _, check := range p.checks {
		if err := check(); err != nil {
			return err
		}
	}
	p.sum = p.md5.Sum(nil)
	return io.EOF
}

// readAll reads a small body, of XML.
func (p *payload) readAll() ([]byte, error) {
	const most = 2 << 20
	data, err := io.ReadAll(io.LimitReader(p, most+1))
	if err == nil && len(data) > most {
		err = errMalformedXML
	}
	return data, err
}

// decodeXML reads a small body of XML into v.
func (p *payload) decodeXML(v any) error {
	data, err := p.readAll()
	if err == nil && xml.Unmarshal(data, v) != nil {
		err = errMalformedXML
	}
	return err
}

// chunkReader decodes a body that is sent in chunks of its own ("aws-chunked") and verifies their
// signatures, each of which covers the one before.
type chunkReader struct {
	from     *bufio.Reader
	left     int64 // of the current chunk
	begun    bool
	ended    bool
	trailing bool // trailers follow
	trailers map[string]string

	verify   *signature // nil: chunks are not signed
	previous string
	claimed  string // the current chunk's signature
	sum      hash.Hash
}

// Read implements io.Reader.
func (c *chunkReader) Read(b []byte) (int, error) {
	for c.left == 0 {
		if c.ended {
			return 0, io.EOF
		}
		if err := c.next(); err != nil {
			return 0, err
		}
	}
	n, err := c.from.Read(b[:min(int64(len(b)), c.left)])
	c.left -= int64(n)
	if c.sum != nil {
		c.sum.Write(b[:n])
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// next ends one chunk and reads the header of the following one: its size in hex, and its
// signature.
func (c *chunkReader) next() error {
	if c.begun {
		if err := c.endChunk(); err != nil {
			return err
		}
		if line, err := c.line(); err != nil || line != "" {
			return errors.Join(errIncomplete, err)
		}
	}
	c.begun = true
	line, err := c.line()
	if err != nil {
		return err
	}
	size, extension, _ := strings.Cut(line, ";")
	if c.left, err = strconv.ParseInt(size, 16, 64); err != nil || c.left < 0 {
		return errIncomplete
	}
	c.claimed = strings.TrimPrefix(extension, "chunk-signature=")
	if c.left > 0 {
		return nil
	}
	c.ended = true
	if err := c.endChunk(); err != nil {
		return err
	}
	return c.readTrailers()
}

func (c *chunkReader) endChunk() error {
	if c.verify == nil {
		return nil
	}
	rest := c.previous + "\n" + emptySHA256 + "\n" + hex.EncodeToString(c.sum.Sum(nil))
	if !c.verify.matches(chunkAlgorithm, rest, c.claimed) {
		return errSignature
	}
	c.previous = c.claimed
	c.sum.Reset()
	return nil
}

// readTrailers reads to the end of the body.
func (c *chunkReader) readTrailers() error {
	c.trailers = map[string]string{}
	var signed strings.Builder
	var claimed string
	for lines := 0; ; lines++ {
		line, err := c.line()
		if err == io.ErrUnexpectedEOF && c.trailing {
			break // some clients leave out the last empty line
		}
		if err != nil {
			return err
		}
		if lines == maxTrailers {
			return errIncomplete
		}
		if line == "" && (c.verify == nil || claimed != "" || len(c.trailers) == 0) {
			break
		}
		if line == "" { // MinIO's client has one before the signature
			continue
		}
		name, value, found := strings.Cut(line, ":")
		if name = strings.ToLower(strings.TrimSpace(name)); !found || !c.trailing {
			return errIncomplete
		}
		value = strings.TrimSpace(value)
		if name == "x-amz-trailer-signature" {
			claimed = value
			continue
		}
		c.trailers[name] = value
		fmt.Fprintf(&signed, "%s:%s\n", name, value)
	}
	if c.verify == nil || !c.trailing {
		return nil
	}
	if !c.verify.matches(trailerAlgorithm, c.previous+"\n"+hexSHA256(signed.String()), claimed) {
		return errSignature
	}
	return nil
}

// line reads one line that ends in CRLF.
func (c *chunkReader) line() (string, error) {
	line, err := c.from.ReadSlice('\n')
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil && err != bufio.ErrBufferFull {
		return "", err
	}
	if err != nil || len(line) > maxChunkHeader {
		return "", errIncomplete
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r"), nil
}
