package s3

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
)

// FromEnv takes the configuration from the environment, by the names that the AWS and MinIO tools know:
//
//	endpoint     AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, MINIO_ENDPOINT, else the one MC_HOST_<alias>
//	region       AWS_REGION, AWS_DEFAULT_REGION, MINIO_REGION
//	credentials  AWS_ACCESS_KEY_ID and so on; MINIO_ACCESS_KEY, MINIO_ROOT_USER and so on; those within MC_HOST_<alias>;
//	             else Open looks further
//
// MC_HOST_<alias> is mc's form: https://ACCESS:SECRET@host or https://ACCESS:SECRET:SESSION@host. Of several, the one whose
// alias is "stoker" is meant.
func FromEnv() (Config, error) { return fromEnv(os.Environ()) }

func fromEnv(environ []string) (Config, error) {
	env := environment(environ)
	cfg := Config{
		Endpoint: env.first("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "MINIO_ENDPOINT"),
		Region:   env.first("AWS_REGION", "AWS_DEFAULT_REGION", "MINIO_REGION"),
	}
	env.keys(&cfg)
	if cfg.Endpoint != "" {
		if !strings.Contains(cfg.Endpoint, "://") {
			cfg.Endpoint = "https://" + cfg.Endpoint
		}
		return cfg, nil
	}
	if err := env.host(&cfg); err != nil {
		return Config{}, err
	}
	if cfg.Endpoint == "" {
		cfg.Endpoint = "https://s3.amazonaws.com"
	}
	return cfg, nil
}

type environment []string

func (e environment) first(names ...string) string {
	for _, name := range names {
		for _, kv := range e {
			if k, v, _ := strings.Cut(kv, "="); k == name && v != "" {
				return v
			}
		}
	}
	return ""
}

// keys takes access key and secret from the first pair of variables that has both, so that they never mix.
func (e environment) keys(cfg *Config) {
	pairs := [][3]string{
		{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"},
		{"MINIO_ACCESS_KEY", "MINIO_SECRET_KEY", ""},
		{"MINIO_ROOT_USER", "MINIO_ROOT_PASSWORD", ""},
	}
	for _, p := range pairs {
		access, secret := e.first(p[0]), e.first(p[1])
		if access != "" && secret != "" {
			cfg.AccessKey, cfg.SecretKey, cfg.SessionToken = access, secret, e.first(p[2])
			return
		}
	}
}

const hostPrefix = "MC_HOST_"

func (e environment) host(cfg *Config) error {
	var aliases []string
	for _, kv := range e {
		if alias, ok := strings.CutPrefix(kv, hostPrefix); ok {
			alias, _, _ = strings.Cut(alias, "=")
			aliases = append(aliases, alias)
		}
	}
	switch {
	case len(aliases) == 0:
		return nil
	case len(aliases) > 1 && !slices.Contains(aliases, "stoker"):
		slices.Sort(aliases)
		return fmt.Errorf("%s* is set for %s: set AWS_ENDPOINT_URL_S3, or name one of them stoker", hostPrefix, strings.Join(aliases, ", "))
	case len(aliases) > 1:
		aliases[0] = "stoker"
	}
	name := hostPrefix + aliases[0]
	return parseHost(name, e.first(name), cfg)
}

// parseHost never shows what it parses: there is a secret in it.
func parseHost(name, value string, cfg *Config) error {
	u, err := url.Parse(value)
	if err != nil || u.Host == "" {
		return fmt.Errorf("%s: expected https://ACCESS:SECRET@host", name)
	}
	if cfg.AccessKey == "" && u.User != nil {
		cfg.AccessKey = u.User.Username()
		secret, _ := u.User.Password()
		cfg.SecretKey, cfg.SessionToken, _ = strings.Cut(secret, ":")
	}
	u.User = nil
	cfg.Endpoint = strings.TrimSuffix(u.String(), "/")
	return nil
}
