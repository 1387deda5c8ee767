package telemetry_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// sink is an OpenTelemetry collector for traces: it receives them by OTLP over HTTP.
type sink struct {
	mu    sync.Mutex
	spans []*tracepb.Span
}

// startSink starts a collector, and sets the SDK's environment variables to its address.
func startSink(t *testing.T) *sink {
	t.Helper()
	s := &sink{}
	server := httptest.NewServer(http.HandlerFunc(s.take))
	t.Cleanup(server.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", server.URL+"/v1/traces")
	return s
}

func (s *sink) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &request)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, resource := range request.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			s.spans = append(s.spans, scope.Spans...)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// value returns the value of a span's attribute; nil, whose fields are all zero, if it has none.
func value(span *tracepb.Span, key string) *commonpb.AnyValue {
	for _, attribute := range span.Attributes {
		if attribute.Key == key {
			return attribute.Value
		}
	}
	return nil
}

// tree returns the received spans as paths of names from the top of each trace:
// "upstream/process events.transform.ready/send jobs.train".
func (s *sink) tree(trace string, top map[string]string) (paths []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	byID := map[string]*tracepb.Span{}
	for _, span := range s.spans {
		byID[string(span.SpanId)] = span
	}
	for _, span := range s.spans {
		if hexOf(span.TraceId) == trace {
			paths = append(paths, path(byID, top, span))
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

func path(byID map[string]*tracepb.Span, top map[string]string, span *tracepb.Span) string {
	if parent := byID[string(span.ParentSpanId)]; parent != nil {
		return path(byID, top, parent) + "/" + span.Name
	}
	if name := top[hexOf(span.ParentSpanId)]; name != "" {
		return name + "/" + span.Name
	}
	return span.Name
}
