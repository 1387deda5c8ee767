package settings

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Bus is a NATS server and the credentials for it. Creds, NKey, Cert, Key and CA are files;
// CredsText, Seed and KeyText are the contents of the files of Creds, NKey and Key, for processes
// that must not have a file with a credential.
type Bus struct {
	URL  string // "": none was set
	From string // where it was set
	// Selected says that only `nats context select` named it: closer places override it.
	Selected bool

	User, Password, Token, Creds, NKey, Cert, Key, CA string
	CredsText, Seed, KeyText                          string

	InboxPrefix, Domain string
	TLSFirst            bool
	Timeout             time.Duration // for an answer
}

// identity lists the keys of credentials: all are taken from the strongest place that has one of
// them.
var identity = []Key{BusUser, BusPass, BusToken, BusCreds, BusNKey, BusJWT, BusSeed}

// busPlaces adds to flags, environment and file the context that one of them names. The context
// that is only selected counts if no server is set elsewhere, and then as a whole.
func (s *Settings) busPlaces() (layers, error) {
	if named := s.places.find(BusContext); named.Text != "" {
		context, err := s.readContext(named.Text, named.From)
		if err != nil {
			return nil, err
		}
		return s.places.behind(s.places.strongest(BusContext), context).together(identity...).together(BusCert, BusKey, BusKeyText), nil
	}
	if name := s.selected(); name != "" && s.places.find(BusURL).Text == "" {
		context, err := s.readContext(name, "nats context select")
		if err != nil {
			return nil, err
		}
		for key, v := range context {
			v.From += ", selected"
			context[key] = v
		}
		return s.places.behind(-1, context).together(identity...).together(BusCert, BusKey, BusKeyText), nil
	}
	return s.places.together(identity...).together(BusCert, BusKey, BusKeyText), nil
}

// Bus returns the settings of the bus.
func (s *Settings) Bus() (Bus, error) {
	places, err := s.busPlaces()
	if err != nil {
		return Bus{}, err
	}
	text := func(key Key) string { return s.value(places, key).Text }
	server := places.find(BusURL)
	b := Bus{
		URL: server.Text, From: server.From, Selected: server.Text != "" && s.places.find(BusURL).Text == "" && s.places.find(BusContext).Text == "",
		User: text(BusUser), Password: text(BusPass), Token: text(BusToken), Creds: text(BusCreds), NKey: text(BusNKey),
		CredsText: text(BusJWT), Seed: text(BusSeed), KeyText: text(BusKeyText), Cert: text(BusCert), Key: text(BusKey), CA: text(BusCA), InboxPrefix: text(BusInbox), Domain: text(BusDomain),
	}
	var bad error
	if b.Timeout, bad = time.ParseDuration(text(BusTimeout)); bad != nil || b.Timeout <= 0 {
		err = errors.Join(err, badValue(s.value(places, BusTimeout), "a duration like 5s"))
	}
	if first := text(BusFirst); first != "" {
		if b.TLSFirst, bad = strconv.ParseBool(first); bad != nil {
			err = errors.Join(err, badValue(s.value(places, BusFirst), "true or false"))
		}
	}
	if (b.Cert == "") != (b.Key == "" && b.KeyText == "") {
		err = errors.Join(err, fmt.Errorf("%s and %s must be set together, and one is missing", BusCert, BusKey))
	}
	for _, pair := range []struct {
		file, text Key
		both       bool
	}{{BusCreds, BusJWT, b.Creds != "" && b.CredsText != ""}, {BusNKey, BusSeed, b.NKey != "" && b.Seed != ""}, {BusKey, BusKeyText, b.Key != "" && b.KeyText != ""}} {
		if pair.both {
			err = errors.Join(err, fmt.Errorf("%s names a file and %s is its content: set one of them", pair.file, pair.text))
		}
	}
	return b, err
}

func badValue(v Value, expected string) error {
	return fmt.Errorf("%s (%s) is %q: expected %s", v.Key, v.From, v.Text, expected)
}
