package multihost

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// errStranger is what a host gets that doesn't know the token, and one that meets it.
var errStranger = errors.New("it doesn't know the group's token")

// secured is TLS 1.3 in which both ends prove that they know the token, by a key that is made of it
// (HKDF-SHA256 to Ed25519). There are no names and no authority: a host with the key belongs to the
// group.
func secured(token string) (*tls.Config, error) {
	seed, err := hkdf.Key(sha256.New, []byte(token), nil, "stoker hosts 1", ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("derive the group's key: %w", err)
	}
	key := ed25519.NewKeyFromSeed(seed)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
	certificate, err := x509.CreateCertificate(nil, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make the group's certificate: %w", err)
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		Certificates:       []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}},
		ClientAuth:         tls.RequireAnyClientCert,
		InsecureSkipVerify: true, // in place of names and authorities, VerifyConnection wants this very key
		VerifyConnection: func(s tls.ConnectionState) error {
			if theirs, ok := s.PeerCertificates[0].PublicKey.(ed25519.PublicKey); !ok || !theirs.Equal(key.Public()) {
				return errStranger
			}
			return nil
		},
	}, nil
}
