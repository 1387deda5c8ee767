package settings

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
)

// Keys are credentials of a store, valid until Expires, if that is not zero.
type Keys struct {
	AccessKey, SecretKey, SessionToken string
	Expires                            time.Time
}

// Provider returns the keys of a profile, which may come from another service.
type Provider func(ctx context.Context) (Keys, error)

// profileKeys is not a setting of its own: a profile with credentials sets it to its name.
const profileKeys Key = "store.profile's keys"

// readProfile reads a profile from ~/.aws/config and ~/.aws/credentials. The default one may be
// missing.
func (s *Settings) readProfile(ctx context.Context, name string, named bool) (layer, error) {
	shared, err := config.LoadSharedConfigProfile(ctx, name, func(o *config.LoadSharedConfigOptions) {
		o.ConfigFiles, o.CredentialsFiles = []string{s.awsFile("AWS_CONFIG_FILE", "config")}, []string{s.awsFile("AWS_SHARED_CREDENTIALS_FILE", "credentials")}
	})
	if missing := (config.SharedConfigProfileNotExistError{}); errors.As(err, &missing) {
		if !named {
			return layer{}, nil
		}
		return nil, fmt.Errorf("%s: no AWS profile %q in %s or %s", s.places.find(StoreProfile).From, name,
			s.awsFile("AWS_CONFIG_FILE", "config"), s.awsFile("AWS_SHARED_CREDENTIALS_FILE", "credentials"))
	}
	if err != nil {
		return nil, fmt.Errorf("AWS profile %s: %w", name, err)
	}
	return s.profileLayer(ctx, name, shared), nil
}

func (s *Settings) profileLayer(ctx context.Context, name string, shared config.SharedConfig) layer {
	l, from := layer{}, "AWS profile "+name
	l.set(StoreRegion, shared.Region, from)
	l.set(StoreCA, shared.CustomCABundle, from)
	if !s.env.ignoresEndpoints() && (shared.IgnoreConfiguredEndpoints == nil || !*shared.IgnoreConfiguredEndpoints) {
		l.set(StoreEndpoint, shared.BaseEndpoint, from)
		if endpoint, found, err := shared.GetServiceBaseEndpoint(ctx, "s3"); err == nil && found {
			l.set(StoreEndpoint, endpoint, from)
		}
	}
	if givesKeys(shared) {
		l[profileKeys] = Value{Text: name, From: from}
	}
	return l
}

// givesKeys reports whether a profile has credentials.
func givesKeys(c config.SharedConfig) bool {
	return c.Credentials.HasKeys() || c.CredentialProcess != "" || c.CredentialSource != "" || c.Source != nil || c.RoleARN != "" ||
		c.WebIdentityTokenFile != "" || c.SSOSession != nil || c.SSOStartURL != "" || c.LoginSession != ""
}

// awsFile returns the path of one of AWS's two files: the variable's value, else in ~/.aws.
func (s *Settings) awsFile(variable, name string) string {
	if path := s.env.get(variable); path != "" {
		return s.expand(path)
	}
	if s.sources.Home == "" {
		return ""
	}
	return filepath.Join(s.sources.Home, ".aws", name)
}

// provider asks AWS's own package for a profile's keys, which may come from another profile, a
// role, a program or a sign-in.
func (s *Settings) provider(profile string) Provider {
	return func(ctx context.Context) (Keys, error) {
		loaded, err := config.LoadDefaultConfig(ctx, config.WithSharedConfigProfile(profile),
			config.WithSharedConfigFiles([]string{s.awsFile("AWS_CONFIG_FILE", "config")}),
			config.WithSharedCredentialsFiles([]string{s.awsFile("AWS_SHARED_CREDENTIALS_FILE", "credentials")}))
		if err != nil {
			return Keys{}, fmt.Errorf("AWS profile %s: %w", profile, err)
		}
		found, err := loaded.Credentials.Retrieve(ctx)
		if err != nil {
			return Keys{}, fmt.Errorf("AWS profile %s: %w", profile, err)
		}
		keys := Keys{AccessKey: found.AccessKeyID, SecretKey: found.SecretAccessKey, SessionToken: found.SessionToken}
		if found.CanExpire {
			keys.Expires = found.Expires
		}
		return keys, nil
	}
}
