package events

import (
	"maps"
	"mime"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/types"
)

// envelope is a CloudEvent in whichever form it came: attributes as strings, because binary mode has no other type, and the
// data as JSON.
type envelope struct {
	attributes map[string]string
	data       []byte
}

const specVersion = "1.0"

// fact reads the envelope. What is wrong is an *Invalid naming the attribute, or the path below data.
func (e envelope) fact() (Fact, error) {
	kind, err := e.kind()
	if err != nil {
		return Fact{}, err
	}
	fact := Fact{
		ID:         e.attributes["id"],
		Source:     e.attributes["source"],
		Pipeline:   e.attributes["subject"],
		Run:        e.attributes["run"],
		Causation:  e.attributes["causationid"],
		Trace:      e.attributes["traceparent"],
		TraceState: traceState(e.attributes["tracestate"]),
		Data:       newData(kind),
	}
	if fact.Time, err = e.time(); err != nil {
		return Fact{}, err
	}
	if len(e.data) == 0 || string(e.data) == "null" {
		return Fact{}, invalid("data", "what the fact tells", "")
	}
	if err := unmarshal("data", e.data, fact.Data); err != nil {
		return Fact{}, err
	}
	return fact, first(fact.Validate(), checkSource(fact.Source))
}

// kind checks what has to be right before the data can be read.
func (e envelope) kind() (Kind, error) {
	if version := e.attributes["specversion"]; version != specVersion {
		return "", invalid("specversion", specVersion, version)
	}
	if contentType := e.attributes["datacontenttype"]; !isJSON(contentType) {
		return "", invalid("datacontenttype", "application/json", contentType)
	}
	return KindOf(e.attributes["type"])
}

func (e envelope) time() (time.Time, error) {
	text := e.attributes["time"]
	if text == "" {
		return time.Time{}, nil
	}
	at, err := types.ParseTime(text)
	if err != nil {
		return time.Time{}, invalid("time", "a timestamp of RFC 3339", text)
	}
	return at, nil
}

func checkSource(source string) error {
	if _, err := url.Parse(source); err != nil {
		return invalid("source", "a URI reference", source)
	}
	return nil
}

// isJSON says whether a media type means JSON. CloudEvents' default is JSON.
func isJSON(contentType string) bool {
	if contentType == "" {
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && (media == "application/json" || media == "text/json" || strings.HasSuffix(media, "+json"))
}

// envelope is the inverse of envelope.fact. It leaves out attributes that are empty.
func (f Fact) envelope(data []byte) envelope {
	attributes := map[string]string{
		"specversion":     specVersion,
		"type":            f.Data.Kind().Type(),
		"id":              f.ID,
		"source":          f.Source,
		"subject":         f.Pipeline,
		"run":             f.Run,
		"causationid":     f.Causation,
		"traceparent":     f.Trace,
		"tracestate":      f.TraceState,
		"datacontenttype": "application/json",
	}
	if !f.Time.IsZero() {
		attributes["time"] = types.FormatTime(f.Time)
	}
	maps.DeleteFunc(attributes, func(_, value string) bool { return value == "" })
	return envelope{attributes: attributes, data: data}
}

// percentEncode encodes what the NATS binding says must be (section 3.1.3.2): space, ", % and everything outside visible ASCII.
func percentEncode(value string) string {
	var out strings.Builder
	for _, b := range []byte(value) {
		if b <= ' ' || b >= 0x7f || b == '"' || b == '%' {
			out.Write([]byte{'%', escapeDigits[b>>4], escapeDigits[b&15]})
			continue
		}
		out.WriteByte(b)
	}
	return out.String()
}

// percentDecode leaves what is no valid escape as it stands: other implementations send % bare.
func percentDecode(value string) string {
	if !strings.Contains(value, "%") {
		return value
	}
	var out []byte
	for i := 0; i < len(value); i++ {
		if value[i] == '%' && i+2 < len(value) {
			if b, err := strconv.ParseUint(value[i+1:i+3], 16, 8); err == nil {
				out = append(out, byte(b))
				i += 2
				continue
			}
		}
		out = append(out, value[i])
	}
	return string(out)
}
