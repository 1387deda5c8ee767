package settings

import (
	"slices"
	"strings"
)

// Value is a setting, and where it was found.
type Value struct {
	Setting
	Text string
	From string // --nats, NATS_URL, a file with its line, a context, default; "": it is not set
}

// Shown returns the text for display: it hides a secret, and the password in an address.
func (v Value) Shown() string {
	switch {
	case v.Text == "":
		return ""
	case v.Secret:
		return "(hidden)"
	case v.Key == BusURL || v.Key == StoreEndpoint || v.Key == LineageURL:
		return withoutUsers(v.Text)
	}
	return v.Text
}

// withoutUsers removes the credentials from each of the addresses.
func withoutUsers(addresses string) string {
	all := strings.Split(addresses, ",")
	for i, address := range all {
		if at := strings.LastIndex(address, "@"); at >= 0 {
			scheme, _, found := strings.Cut(address, "://")
			if !found {
				scheme = "nats"
			}
			all[i] = scheme + "://" + address[at+1:]
		}
	}
	return strings.Join(all, ",")
}

// layer has the settings of one place. Of several layers, the first that has a key counts.
type layer map[Key]Value

func (l layer) set(key Key, text, from string) {
	if s, ok := setting(key); ok && text != "" {
		l[key] = Value{Setting: s, Text: text, From: from}
	}
}

// layers are places, the strongest first.
type layers []layer

func (l layers) find(key Key) Value {
	for _, layer := range l {
		if v, ok := layer[key]; ok {
			return v
		}
	}
	s, _ := setting(key)
	return Value{Setting: s}
}

// strongest returns the index of the first layer that has one of keys; -1 if none does.
func (l layers) strongest(keys ...Key) int {
	for i, layer := range l {
		for _, key := range keys {
			if _, ok := layer[key]; ok {
				return i
			}
		}
	}
	return -1
}

// together keeps keys only in the strongest place that has one of them, so that halves of two
// places never mix.
func (l layers) together(keys ...Key) layers {
	first := l.strongest(keys...)
	kept := make(layers, len(l))
	for i, all := range l {
		kept[i] = layer{}
		for key, v := range all {
			if i == first || !slices.Contains(keys, key) {
				kept[i][key] = v
			}
		}
	}
	return kept
}

// behind inserts more right after the layer at i; at the end if i is -1.
func (l layers) behind(i int, more layer) layers {
	if i < 0 {
		return append(append(layers{}, l...), more)
	}
	return append(append(append(layers{}, l[:i+1]...), more), l[i+1:]...)
}
