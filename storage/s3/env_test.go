package s3

import (
	"fmt"
	"strings"
	"testing"
)

func TestEnvironment(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		env  string
		want Config
	}{
		"nothing": {"", Config{Endpoint: "https://s3.amazonaws.com"}},
		"AWS": {
			"AWS_ENDPOINT_URL=http://all AWS_ENDPOINT_URL_S3=http://s3:1 AWS_REGION=eu-1 AWS_ACCESS_KEY_ID=a AWS_SECRET_ACCESS_KEY=s AWS_SESSION_TOKEN=t",
			Config{Endpoint: "http://s3:1", Region: "eu-1", AccessKey: "a", SecretKey: "s", SessionToken: "t"},
		},
		"AWS, older names": {
			"AWS_ENDPOINT_URL=http://all AWS_DEFAULT_REGION=eu-2",
			Config{Endpoint: "http://all", Region: "eu-2"},
		},
		"MinIO": {
			"MINIO_ENDPOINT=minio:9000 MINIO_ACCESS_KEY=a MINIO_SECRET_KEY=s",
			Config{Endpoint: "https://minio:9000", AccessKey: "a", SecretKey: "s"},
		},
		"MinIO's root": {
			"MINIO_ENDPOINT=http://minio:9000 MINIO_ROOT_USER=a MINIO_ROOT_PASSWORD=s",
			Config{Endpoint: "http://minio:9000", AccessKey: "a", SecretKey: "s"},
		},
		"halves of pairs don't mix": {
			"MINIO_ENDPOINT=http://m AWS_ACCESS_KEY_ID=half MINIO_ROOT_USER=a MINIO_ROOT_PASSWORD=s AWS_SESSION_TOKEN=t",
			Config{Endpoint: "http://m", AccessKey: "a", SecretKey: "s"},
		},
		"mc's only host": {
			"MC_HOST_prod=https://access:sec%2Fret@minio.example.com",
			Config{Endpoint: "https://minio.example.com", AccessKey: "access", SecretKey: "sec/ret"},
		},
		"mc's host with a session": {
			"MC_HOST_prod=https://access:secret:session@minio.example.com/",
			Config{Endpoint: "https://minio.example.com", AccessKey: "access", SecretKey: "secret", SessionToken: "session"},
		},
		"mc's hosts, one named stoker": {
			"MC_HOST_a=https://a MC_HOST_stoker=http://b:1",
			Config{Endpoint: "http://b:1"},
		},
		"mc's host, keys from AWS": {
			"MC_HOST_a=https://x:y@a AWS_ACCESS_KEY_ID=a AWS_SECRET_ACCESS_KEY=s",
			Config{Endpoint: "https://a", AccessKey: "a", SecretKey: "s"},
		},
		"an endpoint beats mc's hosts": {
			"MC_HOST_a=https://a MC_HOST_b=https://b AWS_ENDPOINT_URL=http://c",
			Config{Endpoint: "http://c"},
		},
	} {
		got, err := fromEnv(strings.Fields(tc.env))
		if err != nil || got != tc.want {
			t.Errorf("%s:\ngot  %+v, %v\nwant %+v", name, got, err, tc.want)
		}
	}
}

func TestBadEnvironmentIsNamedWithoutItsSecret(t *testing.T) {
	t.Parallel()
	for env, want := range map[string]string{
		"MC_HOST_a=https://x:secret@a MC_HOST_b=https://b": "a, b",
		"MC_HOST_a=https://x:secret@a:port":                "MC_HOST_a",
		"MC_HOST_a=x:secret":                               "MC_HOST_a",
	} {
		_, err := fromEnv(strings.Fields(env))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", env, err)
		}
	}
}

func TestBadConfigIsRefused(t *testing.T) {
	t.Parallel()
	for _, cfg := range []Config{
		{Endpoint: "127.0.0.1:9000", AccessKey: "a", SecretKey: "s"},
		{Endpoint: "host:9000", AccessKey: "a", SecretKey: "s"},
		{Endpoint: "ftp://host", AccessKey: "a", SecretKey: "s"},
		{Endpoint: "http://host/bucket", AccessKey: "a", SecretKey: "s"},
		{Endpoint: "http://a:secret@host", AccessKey: "a", SecretKey: "s"},
		{Endpoint: "https://host?x=secret", AccessKey: "a", SecretKey: "s"},
		{Endpoint: "http://host", AccessKey: "a"},
		{Endpoint: "http://host", SecretKey: "s"},
		{AccessKey: "a", SecretKey: "s"},
	} {
		_, err := Open(t.Context(), cfg)
		if err == nil || strings.Contains(err.Error(), "secret@") {
			t.Errorf("%q: %v", cfg.Endpoint, err)
		}
	}
}

func ExampleFromEnv() {
	cfg, err := fromEnv([]string{"AWS_ENDPOINT_URL_S3=http://127.0.0.1:9000", "AWS_ACCESS_KEY_ID=me", "AWS_SECRET_ACCESS_KEY=mine"})
	if err != nil {
		panic(err)
	}
	fmt.Println(cfg.Endpoint, cfg.AccessKey)
	// Output: http://127.0.0.1:9000 me
}
