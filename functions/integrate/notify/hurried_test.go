package notify_test

import (
	"context"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
)

// hurried is a bus that redelivers at once.
type hurried struct{ *bustest.Memory }

// Listen delivers events again as soon as they are handed back.
func (h hurried) Listen(ctx context.Context, listener string, kinds []events.Kind, wait time.Duration) (events.EventDelivery, error) {
	delivery, err := h.Memory.Listen(ctx, listener, kinds, wait)
	if err != nil {
		return nil, err
	}
	return hurriedDelivery{delivery}, nil
}

type hurriedDelivery struct{ events.EventDelivery }

func (d hurriedDelivery) Nak(ctx context.Context, _ time.Duration) error {
	return d.EventDelivery.Nak(ctx, 0)
}
