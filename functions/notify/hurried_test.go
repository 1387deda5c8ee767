package notify_test

import (
	"context"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/eventstest"
)

// hurried is a letterbox in which later is now.
type hurried struct{ *eventstest.Memory }

// Listen hands out facts that come again as soon as they are handed back.
func (h hurried) Listen(ctx context.Context, listener string, kinds []events.Kind, wait time.Duration) (events.Delivery, error) {
	delivery, err := h.Memory.Listen(ctx, listener, kinds, wait)
	if err != nil {
		return nil, err
	}
	return hurriedDelivery{delivery}, nil
}

type hurriedDelivery struct{ events.Delivery }

func (d hurriedDelivery) Later(ctx context.Context, _ time.Duration) error {
	return d.Delivery.Later(ctx, 0)
}
