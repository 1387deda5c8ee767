package notify

import (
	"encoding/json"
	"strconv"
	"time"
)

// test is an event without content, for a test of the connection.
func test(now time.Time) notification {
	w := Words{
		Type: "dev.stoker.notify.test.v1", Kind: "test", ID: "test-" + strconv.FormatInt(now.UnixNano(), 36), Pipeline: "none",
		Reason: "test", Message: "nothing is wrong: somebody tries out this address",
	}
	return notification{Words: w, event: func() ([]byte, error) {
		return json.Marshal(map[string]any{
			"specversion": "1.0", "type": w.Type, "id": w.ID, "source": "/stoker/notify", "time": now.UTC(),
			"datacontenttype": "application/json", "data": map[string]string{"message": w.Message},
		})
	}}
}
