package notify

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// hook is a receiver. None of its errors and logs has the address, except for the host.
type hook struct {
	address string
	host    string
	text    *template.Template // nil: CloudEvents
	secret  []byte
	token   string
	timeout time.Duration
	client  *http.Client
	now     func() time.Time
}

func newHook(opts Options) (hook, error) {
	h := hook{address: opts.URL, token: opts.Token, timeout: opts.Timeout, client: opts.Client, now: time.Now}
	at, err := url.Parse(opts.URL)
	if err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" {
		return h, errors.New("url: expected http:// or https:// and a host (it is not shown, because it may hold a secret)")
	}
	h.host = at.Host
	if h.secret, err = readSecret(opts.Secret); err != nil {
		return h, err
	}
	if strings.ContainsFunc(opts.Token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return h, errors.New("token: expected visible ASCII without spaces")
	}
	if h.client == nil {
		h.client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	h.text, err = readTemplate(opts.Format, opts.Template)
	return h, err
}

// refused is an answer that is not 2xx.
type refused struct {
	status int
	said   string // the beginning of the body
	retry  time.Duration
}

func (r *refused) Error() string {
	text := fmt.Sprintf("the receiver answers %d %s", r.status, http.StatusText(r.status))
	if r.status >= 300 && r.status < 400 {
		return text + ": redirects are not followed; use the target address"
	}
	if r.said != "" {
		text += ": " + r.said
	}
	return text
}

// unwritable is the error of an event that can't be sent at all, because its template fails.
type unwritable struct{ error }

// forGood reports whether an error is about the content, not about the receiver's state or our
// credentials: it would occur again at each try.
func forGood(err error) bool {
	if _, ok := errors.AsType[unwritable](err); ok {
		return true
	}
	refusal, ok := errors.AsType[*refused](err)
	return ok && slices.Contains(forWhatIsSent, refusal.status)
}

var forWhatIsSent = []int{
	http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity,
}

// after is the receiver's Retry-After; 0 of nil.
func (r *refused) after() time.Duration {
	if r == nil {
		return 0
	}
	return r.retry
}

// send sends one event, and returns nil when the receiver has accepted it.
func (h hook) send(ctx context.Context, t notification) error {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	request, err := h.request(ctx, t)
	if err != nil {
		return err
	}
	response, err := h.client.Do(request)
	if err != nil {
		return fmt.Errorf("send to %s: %w", h.host, withoutAddress(err))
	}
	defer response.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(response.Body, maxSaid)) // the status decides
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		return nil
	}
	return &refused{status: response.StatusCode, said: oneLine(said), retry: retryAfter(response.Header, h.now())}
}

const maxSaid = 512 // bytes of a response

func (h hook) request(ctx context.Context, t notification) (*http.Request, error) {
	body, contentType, err := h.body(t)
	if err != nil {
		return nil, unwritable{err}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.address, bytes.NewReader(body))
	if err != nil {
		return nil, withoutAddress(err)
	}
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("User-Agent", "stoker-notify")
	if h.token != "" {
		request.Header.Set("Authorization", "Bearer "+h.token)
	}
	sign(request.Header, t.ID, h.now(), body, h.secret)
	return request, nil
}

func (h hook) body(t notification) (body []byte, contentType string, err error) {
	if h.text != nil {
		body, err = write(h.text, t.Words)
		return body, "application/json", err
	}
	body, err = t.event()
	return body, events.StructuredType + "; charset=UTF-8", err
}

// withoutAddress is an error of net/http without the URL that it begins with.
func withoutAddress(err error) error {
	if found, ok := errors.AsType[*url.Error](err); ok {
		err = found.Err
	}
	if found, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Errorf("resolve its host name: %s", cmp.Or(found.Err, "no answer"))
	}
	return err
}

// retryAfter reads the header of that name (RFC 9110, section 10.2.3), at most an hour.
func retryAfter(header http.Header, now time.Time) time.Duration {
	text := header.Get("Retry-After")
	var wait time.Duration
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), time.Hour)
}

// oneLine is the beginning of a response, fit for a log.
func oneLine(text []byte) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(string(text), ""), func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
}

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
