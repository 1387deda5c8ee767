package openlineage_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/integrate/openlineage"
)

// The events of the log are sent to a catalog once more. A training that failed is a run that
// started and failed.
func ExampleExporter_Replay() {
	catalog := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var e openlineage.Event
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		fmt.Println(e.Type, e.Job.Namespace, e.Job.Name)
	}))
	defer catalog.Close()

	ctx, bus := context.Background(), bustest.NewMemory(0)
	failed := &events.TrainingFailed{Failed: events.Failed{Reason: events.FailureModule, Message: "ValueError: no label", Attempt: 1}}
	event := events.Event{ID: "failed-17", Source: events.Source(events.FunctionTrain), Pipeline: "penguin", Run: "17", Data: failed}
	if _, err := bus.Publish(ctx, event); err != nil {
		fmt.Println(err)
		return
	}

	address, err := openlineage.Receiver(catalog.URL, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	exporter := openlineage.Exporter{Bus: bus, Sender: openlineage.HTTP{URL: address}}
	sent, err := exporter.Replay(ctx, 1)
	fmt.Println(sent, err)
	// Output:
	// START stoker penguin.train
	// FAIL stoker penguin.train
	// 2 <nil>
}

// The variables of OpenLineage's own clients say where events go.
func ExampleFromEnviron() {
	environ := map[string]string{"OPENLINEAGE_URL": "http://marquez:5000", "OPENLINEAGE_NAMESPACE": "ml"}
	config, err := openlineage.FromEnviron(func(name string) string { return environ[name] })
	fmt.Println(config.URL, config.Namespace, err)
	// Output: http://marquez:5000/api/v1/lineage ml <nil>
}

// The id of a run is the same on any machine, at any time.
func ExampleRunID() {
	fmt.Println(openlineage.RunID(events.FunctionTrain, "penguin", "17", ""))
	// Output: 21edf45a-a128-50a5-bb67-3618881103bf
}
