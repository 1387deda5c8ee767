package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"

	"github.com/stoker-ml/stoker/functions/telemetry"
)

// A process reports whether the services that it needs answer.
func ExampleTelemetry_Probes() {
	var none *telemetry.Telemetry // collects nothing
	probes := none.Probes(context.Background(), map[string]telemetry.Need{
		"bus":   func(context.Context) error { return nil },
		"store": func(context.Context) error { return errors.New("connection refused") },
	})
	for _, path := range []string{"/healthz", "/readyz"} {
		answer := httptest.NewRecorder()
		probes.Handler().ServeHTTP(answer, httptest.NewRequest("GET", path, nil))
		text, _ := io.ReadAll(answer.Result().Body)
		fmt.Printf("%s %d %q\n", path, answer.Code, text)
	}
	// Output:
	// /healthz 200 "ok\n"
	// /readyz 503 "store: connection refused\n"
}

// A log line within a trace names the trace.
func ExampleNewLog() {
	var lines bytes.Buffer
	handler, err := telemetry.NewLog(&lines, telemetry.LogJSON, slog.LevelInfo)
	if err != nil {
		fmt.Println(err)
		return
	}
	// The position in the trace that an event or a job carries.
	place := telemetry.Place{Parent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
	slog.New(handler).InfoContext(place.Within(context.Background()), "staged the inputs", "run", "17")

	var line map[string]any
	if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(line["level"], line["msg"], line["run"], line["trace_id"])
	// Output: INFO staged the inputs 17 4bf92f3577b34da6a3ce929d0e0e4736
}

// Events of a run whose upstream names no trace are in one trace all the same.
func ExampleTraceOf() {
	fmt.Println(telemetry.TraceOf("penguin", "17"))
	fmt.Println(telemetry.TraceOf("penguin", "17") == telemetry.TraceOf("penguin", "18"))
	// Output:
	// ad7bc51d99d368bd54c94a9a1271c097
	// false
}
