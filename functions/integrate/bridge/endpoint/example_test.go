package endpoint_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/integrate/bridge/endpoint"
)

// A CloudEvent arrives over HTTP, once with the token and once without. The answer to the first
// request is sent after the event is stored.
func Example() {
	bus := bustest.NewMemory(0)
	handler, err := endpoint.New(bus, endpoint.Options{Token: func() string { return "a-token" }, Pipelines: []string{"penguin"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(handler)
	defer server.Close()

	const event = `{"specversion": "1.0", "type": "dev.stoker.examples.ready.v1", "id": "examples-17", "source": "/tfx",
		"subject": "penguin", "run": "17", "data": {"examples": [{"uri": "s3://tfx/penguin/examples/17"}]}}`
	for _, authorization := range []string{"Bearer a-token", ""} {
		request, err := http.NewRequest(http.MethodPost, server.URL, strings.NewReader(event))
		if err != nil {
			fmt.Println(err)
			return
		}
		request.Header.Set("Content-Type", "application/cloudevents+json")
		request.Header.Set("Authorization", authorization)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			fmt.Println(err)
			return
		}
		answer.Body.Close()
		fmt.Println(answer.Status)
	}
	for recorded := range bus.Read(context.Background(), events.Query{}) {
		fmt.Println(recorded.Event.Pipeline, recorded.Event.Run, recorded.Event.Data.Summary())
	}
	// Output:
	// 202 Accepted
	// 401 Unauthorized
	// penguin 17 s3://tfx/penguin/examples/17
}
