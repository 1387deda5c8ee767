package settings

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// environment is the result of os.Environ.
type environment []string

// get returns a variable's value.
func (e environment) get(name string) string {
	for _, kv := range e {
		if k, v, _ := strings.Cut(kv, "="); k == name {
			return v
		}
	}
	return ""
}

// first returns the value of the first of names that is set.
func (e environment) first(names ...string) string {
	_, value := e.which(names...)
	return value
}

func (e environment) which(names ...string) (name, value string) {
	for _, name := range names {
		if value := e.get(name); value != "" {
			return name, value
		}
	}
	return "", ""
}

// layer returns the settings of the environment. It uses mc's hosts if no variable names a store.
func (e environment) layer() (layer, error) {
	l := layer{}
	for _, setting := range All() {
		if name, value := e.which(setting.Env...); !slices.Contains(pairKeys, setting.Key) {
			l.set(setting.Key, value, name)
		}
	}
	e.keys(l)
	if e.ignoresEndpoints() && l[StoreEndpoint].From != "MINIO_ENDPOINT" {
		delete(l, StoreEndpoint)
	}
	if endpoint, ok := l[StoreEndpoint]; ok {
		l.set(StoreEndpoint, withScheme(endpoint.Text), endpoint.From)
		return l, nil
	}
	return l, e.host(l)
}

// ignoresEndpoints reports whether AWS's variable says that only AWS's own endpoints count.
func (e environment) ignoresEndpoints() bool {
	return strings.EqualFold(e.get("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"), "true")
}

func withScheme(endpoint string) string {
	if strings.Contains(endpoint, "://") {
		return endpoint
	}
	return "https://" + endpoint
}

// pairKeys go together: they are taken from one place.
var pairKeys = []Key{StoreAccess, StoreSecret, StoreSession}

// keys takes access key and secret from the first pair of variables that has both, so that they
// never mix.
func (e environment) keys(l layer) {
	pairs := [][3]string{
		{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"},
		{"MINIO_ACCESS_KEY", "MINIO_SECRET_KEY", ""},
		{"MINIO_ROOT_USER", "MINIO_ROOT_PASSWORD", ""},
	}
	for _, p := range pairs {
		if access, secret := e.first(p[0]), e.first(p[1]); access != "" && secret != "" {
			l.set(StoreAccess, access, p[0])
			l.set(StoreSecret, secret, p[1])
			l.set(StoreSession, e.first(p[2]), p[2])
			return
		}
	}
}

const hostPrefix = "MC_HOST_"

// host takes a store from mc's variable, MC_HOST_<alias>=https://ACCESS:SECRET@host or
// https://ACCESS:SECRET:SESSION@host. If there are several, it takes the one whose alias is
// "stoker".
func (e environment) host(l layer) error {
	var aliases []string
	for _, kv := range e {
		alias, ok := strings.CutPrefix(kv, hostPrefix)
		if alias, value, _ := strings.Cut(alias, "="); ok && value != "" {
			aliases = append(aliases, alias)
		}
	}
	switch {
	case len(aliases) == 0:
		return nil
	case len(aliases) > 1 && !slices.Contains(aliases, "stoker"):
		slices.Sort(aliases)
		return fmt.Errorf("%s* is set for %s: set AWS_ENDPOINT_URL_S3 instead, or rename one of them to stoker", hostPrefix, strings.Join(aliases, ", "))
	case len(aliases) > 1:
		aliases[0] = "stoker"
	}
	name := hostPrefix + aliases[0]
	return parseHost(name, e.get(name), l)
}

// parseHost never shows its argument, which contains a secret.
func parseHost(name, value string, l layer) error {
	u, err := url.Parse(value)
	if err != nil || u.Host == "" {
		return fmt.Errorf("%s: expected https://ACCESS:SECRET@host", name)
	}
	if _, ok := l[StoreAccess]; !ok && u.User != nil {
		secret, _ := u.User.Password()
		secret, session, _ := strings.Cut(secret, ":")
		l.set(StoreAccess, u.User.Username(), name)
		l.set(StoreSecret, secret, name)
		l.set(StoreSession, session, name)
	}
	u.User = nil
	l.set(StoreEndpoint, strings.TrimSuffix(u.String(), "/"), name)
	return nil
}
