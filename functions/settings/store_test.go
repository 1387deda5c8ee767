package settings

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestStoreVariables(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		env  string
		want Store
	}{
		"nothing": {"", Store{Endpoint: "https://s3.amazonaws.com", From: "default"}},
		"AWS": {
			"AWS_ENDPOINT_URL=http://all AWS_ENDPOINT_URL_S3=http://s3:1 AWS_REGION=eu-1 AWS_ACCESS_KEY_ID=a AWS_SECRET_ACCESS_KEY=s AWS_SESSION_TOKEN=t AWS_CA_BUNDLE=/ca.pem",
			Store{Endpoint: "http://s3:1", From: "AWS_ENDPOINT_URL_S3", Region: "eu-1", AccessKey: "a", SecretKey: "s", SessionToken: "t", CA: "/ca.pem"},
		},
		"AWS, older names": {
			"AWS_ENDPOINT_URL=http://all AWS_DEFAULT_REGION=eu-2",
			Store{Endpoint: "http://all", From: "AWS_ENDPOINT_URL", Region: "eu-2"},
		},
		"AWS's own endpoint alone": {
			"AWS_ENDPOINT_URL=http://all AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=true",
			Store{Endpoint: "https://s3.amazonaws.com", From: "default"},
		},
		"MinIO": {
			"MINIO_ENDPOINT=minio:9000 MINIO_ACCESS_KEY=a MINIO_SECRET_KEY=s",
			Store{Endpoint: "https://minio:9000", From: "MINIO_ENDPOINT", AccessKey: "a", SecretKey: "s"},
		},
		"MinIO's root": {
			"MINIO_ENDPOINT=http://minio:9000 MINIO_ROOT_USER=a MINIO_ROOT_PASSWORD=s",
			Store{Endpoint: "http://minio:9000", From: "MINIO_ENDPOINT", AccessKey: "a", SecretKey: "s"},
		},
		"halves of pairs don't mix": {
			"MINIO_ENDPOINT=http://m AWS_ACCESS_KEY_ID=half MINIO_ROOT_USER=a MINIO_ROOT_PASSWORD=s AWS_SESSION_TOKEN=t",
			Store{Endpoint: "http://m", From: "MINIO_ENDPOINT", AccessKey: "a", SecretKey: "s"},
		},
		"mc's only host": {
			"MC_HOST_prod=https://access:sec%2Fret@minio.example.com",
			Store{Endpoint: "https://minio.example.com", From: "MC_HOST_prod", AccessKey: "access", SecretKey: "sec/ret"},
		},
		"mc's host with a session": {
			"MC_HOST_prod=https://access:secret:session@minio.example.com/",
			Store{Endpoint: "https://minio.example.com", From: "MC_HOST_prod", AccessKey: "access", SecretKey: "secret", SessionToken: "session"},
		},
		"mc's hosts, one named stoker": {
			"MC_HOST_a=https://a MC_HOST_stoker=http://b:1",
			Store{Endpoint: "http://b:1", From: "MC_HOST_stoker"},
		},
		"mc's host, keys from AWS": {
			"MC_HOST_a=https://x:y@a AWS_ACCESS_KEY_ID=a AWS_SECRET_ACCESS_KEY=s",
			Store{Endpoint: "https://a", From: "MC_HOST_a", AccessKey: "a", SecretKey: "s"},
		},
		"an endpoint beats mc's hosts": {
			"MC_HOST_a=https://a MC_HOST_b=https://b AWS_ENDPOINT_URL=http://c",
			Store{Endpoint: "http://c", From: "AWS_ENDPOINT_URL"},
		},
	} {
		found, err := Find(Sources{Environ: strings.Fields(tc.env)})
		if err != nil {
			t.Fatal(err)
		}
		got, err := found.Store()
		if err != nil || !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s:\ngot  %+v, %v\nwant %+v", name, got, err, tc.want)
		}
	}
}

const awsConfig = `[default]
region = eu-0
[profile minio]
region = eu-1
ca_bundle = /ca.pem
endpoint_url = http://all:1
services = ours
[services ours]
s3 =
  endpoint_url = http://s3:2
[profile role]
credential_process = echo '{"Version":1,"AccessKeyId":"of a program","SecretAccessKey":"s","Expiration":"2100-01-01T00:00:00Z"}'
`

const awsCredentials = `[default]
aws_access_key_id = the default one
aws_secret_access_key = s
[minio]
aws_access_key_id = of minio
aws_secret_access_key = s
`

func TestProfiles(t *testing.T) {
	t.Parallel()
	home := home(t, map[string]string{".aws/config": awsConfig, ".aws/credentials": awsCredentials})
	for name, tc := range map[string]struct {
		flags                  map[Key]string
		env                    string
		endpoint, region, asks string
	}{
		"the default one":                  {nil, "", "https://s3.amazonaws.com", "eu-0", "the default one"},
		"the environment's":                {nil, "AWS_PROFILE=minio", "http://s3:2", "eu-1", "of minio"},
		"keys of the environment go first": {nil, "AWS_PROFILE=minio AWS_ACCESS_KEY_ID=a AWS_SECRET_ACCESS_KEY=s", "http://s3:2", "eu-1", "a"},
		"a flag's goes first":              {map[Key]string{StoreProfile: "minio"}, "AWS_ACCESS_KEY_ID=a AWS_SECRET_ACCESS_KEY=s AWS_REGION=x", "http://s3:2", "eu-1", "of minio"},
		"a program's keys":                 {nil, "AWS_PROFILE=role AWS_ENDPOINT_URL=http://e", "http://e", "", "of a program"},
		"its endpoints are to be ignored":  {nil, "AWS_PROFILE=minio AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=true", "https://s3.amazonaws.com", "eu-1", "of minio"},
	} {
		found, err := Find(Sources{Flags: tc.flags, Environ: strings.Fields(tc.env), Home: home})
		if err != nil {
			t.Fatal(err)
		}
		store, err := found.Store()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		asks := store.AccessKey
		if store.Credentials != nil {
			keys, err := store.Credentials(t.Context())
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			asks = keys.AccessKey
			if (asks == "of a program") == keys.Expires.IsZero() {
				t.Errorf("%s: expires %s", name, keys.Expires)
			}
		}
		if store.Endpoint != tc.endpoint || store.Region != tc.region || asks != tc.asks {
			t.Errorf("%s: %s %s %s", name, store.Endpoint, store.Region, asks)
		}
	}
}

func ExampleFind() {
	found, err := Find(Sources{
		Flags:   map[Key]string{BusURL: "nats://127.0.0.1:4222"},
		Environ: []string{"NATS_URL=nats://elsewhere", "AWS_ENDPOINT_URL_S3=http://127.0.0.1:9000"},
	})
	if err != nil {
		panic(err)
	}
	bus, err := found.Bus()
	if err != nil {
		panic(err)
	}
	store, err := found.Store()
	if err != nil {
		panic(err)
	}
	fmt.Println(bus.URL, "by", bus.From)
	fmt.Println(store.Endpoint, "by", store.From)
	// Output:
	// nats://127.0.0.1:4222 by --nats
	// http://127.0.0.1:9000 by AWS_ENDPOINT_URL_S3
}
