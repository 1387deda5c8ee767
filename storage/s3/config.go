package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/stoker-ml/stoker/storage"
)

// Config names the server and the credentials for it.
type Config struct {
	// Endpoint is the server's URL without a bucket: http://127.0.0.1:9000. Buckets are addressed
	// by path.
	Endpoint string
	// Region signs requests. "" is us-east-1; on amazonaws.com it is the bucket's own region, which
	// is requested.
	Region string

	// RootCA is a PEM file of the certificates that are trusted; "": the system's.
	RootCA string

	// The credentials. If all of them are empty, and Credentials is nil, they are searched where
	// the AWS and MinIO tools do: environment, ~/.aws/credentials, ~/.mc/config.json, web identity
	// (AWS_WEB_IDENTITY_TOKEN_FILE), container and machine role.
	AccessKey    string
	SecretKey    string
	SessionToken string
	// Credentials returns keys if those above are empty. It is called again when they expire. The
	// JSON form, with which tests pass a Config to processes, leaves it out.
	Credentials func(context.Context) (storage.Credentials, error) `json:"-"`

	// MaxTries of one request that failed with a transient error: connection, 5xx, throttling. 0
	// means 5, about 2 s of waiting; 1 means no retry.
	MaxTries int
	// Stall is how long a connection may be idle during a transfer, or an answer may take. 0 means
	// 1 minute.
	Stall time.Duration
}

const (
	defaultRegion   = "us-east-1"
	defaultMaxTries = 5
	defaultStall    = time.Minute
)

// Open returns a Store. It connects to no server, except one that issues credentials, so a Store
// can be opened before the server is up. If no credentials are found, it returns ErrDenied.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	endpoint, err := parseEndpoint(cfg.Endpoint)
	if err != nil {
		return nil, err
	}
	transport, err := newTransport(endpoint.Scheme == "https", cfg.Stall, cfg.RootCA)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", endpoint, err)
	}
	creds, err := cfg.credentials(ctx, transport)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", endpoint, err)
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds:        creds,
		Secure:       endpoint.Scheme == "https",
		Region:       cfg.region(endpoint.Hostname()),
		BucketLookup: minio.BucketLookupPath,
		Transport:    wire{transport},
		MaxRetries:   cfg.maxTries(),
	})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", endpoint, err)
	}
	return &Store{client: client, core: minio.Core{Client: client}, transport: transport, endpoint: endpoint.String()}, nil
}

func parseEndpoint(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		return nil, fmt.Errorf("endpoint: %w", err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return nil, fmt.Errorf("endpoint %q: expected http://host:port or https://host:port", u.Redacted())
	}
	if u.User != nil {
		return nil, fmt.Errorf("endpoint %q: must not contain credentials", u.Redacted())
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}, nil
}

func (c Config) region(host string) string {
	if c.Region != "" {
		return c.Region
	}
	if host == "amazonaws.com" || strings.HasSuffix(host, ".amazonaws.com") || strings.HasSuffix(host, ".amazonaws.com.cn") {
		return "" // minio-go requests the bucket's
	}
	return defaultRegion
}

func (c Config) maxTries() int {
	if c.MaxTries > 0 {
		return c.MaxTries
	}
	return defaultMaxTries
}

func (c Config) credentials(ctx context.Context, transport http.RoundTripper) (*credentials.Credentials, error) {
	if c.AccessKey != "" || c.SecretKey != "" {
		if c.AccessKey == "" || c.SecretKey == "" {
			return nil, errors.New("access key or secret key is empty: set both or none")
		}
		return credentials.NewStaticV4(c.AccessKey, c.SecretKey, c.SessionToken), nil
	}
	if c.Credentials != nil {
		return lent(ctx, c.Credentials)
	}
	chain := credentials.NewChainCredentials([]credentials.Provider{
		&credentials.EnvAWS{},
		&credentials.EnvMinio{},
		&credentials.FileAWSCredentials{},
		&credentials.FileMinioClient{},
		&credentials.IAM{},
	})
	// minio-go would continue without any, and the server would refuse later with a less clear
	// error.
	found, err := chain.GetWithContext(&credentials.CredContext{
		Client:   &http.Client{Transport: transport, Timeout: 10 * time.Second},
		Endpoint: c.Endpoint,
		Context:  ctx,
	})
	if err == nil && found.SignerType.IsAnonymous() {
		err = fmt.Errorf("no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: %w", errDenied)
	}
	return chain, err
}
