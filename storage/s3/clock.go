package s3

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/stoker-ml/stoker/storage"
)

// Clock asks the server for the time and returns by how much its clock is ahead, to about a second, the resolution of HTTP's Date. It
// needs no permission. Requests that are signed by a clock that is 15 minutes off are refused.
func (s *Store) Clock(ctx context.Context) (ahead time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, s.endpoint+"/", nil)
	if err != nil {
		return 0, err
	}
	asked := time.Now()
	answer, err := s.transport.RoundTrip(req)
	if err != nil {
		return 0, fmt.Errorf("ask %s: %w: %w", s.endpoint, storage.ErrUnavailable, err)
	}
	answer.Body.Close()
	date, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		return 0, fmt.Errorf("ask %s: the answer has no valid Date", s.endpoint)
	}
	const half = 500 * time.Millisecond // Date has whole seconds
	took := time.Since(asked)
	return date.Add(half).Sub(asked.Add(took / 2)), nil
}
