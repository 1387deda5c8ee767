package notify_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/integrate/notify"
)

func ExampleNotifier_Try() {
	chat := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Println(string(body))
	}))
	defer chat.Close()
	n, err := notify.New(bustest.NewMemory(0), notify.Options{URL: chat.URL, Format: notify.Text, Template: "{{.Kind}}: {{.Message}}"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(n.Try(context.Background()))
	// Output:
	// {"text":"test: this is a test of this address; nothing has failed"}
	// <nil>
}
