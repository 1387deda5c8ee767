package settings

import (
	"context"
	"fmt"
)

// Store is an object store and the credentials for it.
type Store struct {
	Endpoint, From string // the server's address, and where it was set; "default" if it was not
	Region         string
	CA             string // a file

	AccessKey, SecretKey, SessionToken string // empty: Profile's, or those that the client finds
	// Credentials are the profile's: nil if no profile's count.
	Credentials Provider
}

// Named reports whether a store, or credentials for one, were set.
func (s Store) Named() bool {
	return s.From != "default" || s.AccessKey != "" || s.Credentials != nil
}

// Store returns the settings of the store.
func (s *Settings) Store() (Store, error) {
	places, err := s.storePlaces()
	if err != nil {
		return Store{}, err
	}
	text := func(key Key) string { return s.value(places, key).Text }
	endpoint := s.value(places, StoreEndpoint)
	found := Store{Endpoint: withScheme(endpoint.Text), From: endpoint.From, Region: text(StoreRegion), CA: text(StoreCA)}
	if asks := places.find(profileKeys); asks.Text != "" {
		found.Credentials = s.provider(asks.Text)
		return found, nil
	}
	found.AccessKey, found.SecretKey, found.SessionToken = text(StoreAccess), text(StoreSecret), text(StoreSession)
	if (found.AccessKey == "") != (found.SecretKey == "") {
		return found, fmt.Errorf("%s and %s must be set together, and one is missing", StoreAccess, StoreSecret)
	}
	return found, nil
}

// storePlaces adds to flags, environment and file the AWS profile that one of them names, or else
// the default one. Keys come from one place.
func (s *Settings) storePlaces() (layers, error) {
	name, at := "default", -1
	if named := s.places.find(StoreProfile); named.Text != "" {
		name, at = named.Text, s.places.strongest(StoreProfile)
	}
	profile, err := s.readProfile(context.Background(), name, at >= 0)
	if err != nil {
		return nil, err
	}
	return s.places.behind(at, profile).together(append(pairKeys, profileKeys)...), nil
}
