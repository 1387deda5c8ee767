package notify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const secretPrefix = "whsec_"

// readSecret decodes a key of Standard Webhooks, whsec_ and base64, or takes any other text
// unchanged.
func readSecret(text string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(text, secretPrefix)
	if !ok {
		return []byte(text), nil
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(key) == 0 {
		return nil, errors.New("secret: expected base64 behind " + secretPrefix + " (it is not shown)")
	}
	return key, nil
}

// sign adds the headers of Standard Webhooks 1.0.0 (github.com/standard-webhooks/standard-webhooks,
// spec/standard-webhooks.md):
//
//	webhook-signature = "v1," base64(HMAC-SHA256(key, webhook-id "." webhook-timestamp "." body))
//
// Without a key there is no signature, and the id alone identifies repetitions.
func sign(header http.Header, id string, now time.Time, body, key []byte) {
	stamp := strconv.FormatInt(now.Unix(), 10)
	header.Set("webhook-id", plainID(id))
	header.Set("webhook-timestamp", stamp)
	if len(key) == 0 {
		return
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(plainID(id) + "." + stamp + "."))
	mac.Write(body)
	header.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}

// plainID is the id as a header may carry it; another publisher's may hold any characters.
func plainID(id string) string {
	if !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
