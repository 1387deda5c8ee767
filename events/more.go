package events

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// More is what an entry of a register, or a job, says beyond the members that this version knows: a newer one wrote it. Whoever writes the
// entry again writes More with it, so that two versions may share a bus and neither loses what the other has said. nil: nothing.
type More struct {
	Unknown map[string]json.RawMessage // members that are not known
	Within  map[string]*More           // what is not known in members that are
	Items   []*More                    // the same of a list: one for each item
}

// ReadMore decodes an object into value, a pointer to a struct, and returns what that has no place for. Types that decode themselves keep
// what is theirs.
func ReadMore(text []byte, value any) (*More, error) {
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	if strict.Decode(value) == nil { // as nearly always
		return nil, nil
	}
	if err := json.Unmarshal(text, value); err != nil {
		return nil, err
	}
	return moreOf(text, reflect.TypeOf(value).Elem()), nil
}

// WriteMore encodes value with what was read beside it. A member that value has counts as value has it. What was in an object, or an item
// of a list, is left out where that is gone.
func WriteMore(value any, more *More) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil || more == nil {
		return text, err
	}
	return more.join(text)
}

var decoder = reflect.TypeFor[json.Unmarshaler]()

func moreOf(text []byte, of reflect.Type) *More {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch {
	case reflect.PointerTo(of).Implements(decoder):
		return nil
	case of.Kind() == reflect.Struct:
		return moreOfObject(text, of)
	case of.Kind() == reflect.Slice:
		return moreOfList(text, of.Elem())
	}
	return nil
}

func moreOfObject(text []byte, of reflect.Type) *More {
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil {
		return nil
	}
	m := More{Unknown: map[string]json.RawMessage{}, Within: map[string]*More{}}
	for name, value := range members {
		if field, known := fieldOf(of, name); !known {
			m.Unknown[name] = value
		} else if within := moreOf(value, field); within != nil {
			m.Within[name] = within
		}
	}
	if len(m.Unknown)+len(m.Within) == 0 {
		return nil
	}
	return &m
}

func moreOfList(text []byte, of reflect.Type) *More {
	var items []json.RawMessage
	if json.Unmarshal(text, &items) != nil {
		return nil
	}
	m := More{Items: make([]*More, len(items))}
	for i, item := range items {
		m.Items[i] = moreOf(item, of)
	}
	if !slices.ContainsFunc(m.Items, func(item *More) bool { return item != nil }) {
		return nil
	}
	return &m
}

// fieldOf finds a member as encoding/json does.
func fieldOf(of reflect.Type, member string) (reflect.Type, bool) {
	for _, field := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" || !field.IsExported() || field.Anonymous && name == "" {
			continue
		}
		if name == "" {
			name = field.Name
		}
		if strings.EqualFold(name, member) {
			return field.Type, true
		}
	}
	return nil, false
}

// join adds m to what text says.
func (m *More) join(text json.RawMessage) (json.RawMessage, error) {
	if m == nil {
		return text, nil
	}
	if m.Items != nil {
		return m.joinList(text)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil || members == nil {
		return text, err
	}
	for name, value := range m.Unknown {
		if _, there := members[name]; !there {
			members[name] = value
		}
	}
	for name, within := range m.Within {
		value, there := members[name]
		if !there {
			continue
		}
		var err error
		if members[name], err = within.join(value); err != nil {
			return nil, err
		}
	}
	return json.Marshal(members)
}

// joinList leaves a list alone that is another one by now.
func (m *More) joinList(text json.RawMessage) (json.RawMessage, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(text, &items); err != nil || len(items) != len(m.Items) {
		return text, err
	}
	for i, more := range m.Items {
		var err error
		if items[i], err = more.join(items[i]); err != nil {
			return nil, err
		}
	}
	return json.Marshal(items)
}
