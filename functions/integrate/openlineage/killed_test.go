package openlineage

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// dying accepts some events, and then its process is killed: later ones reach nobody.
type dying struct {
	takes int
	heard []Event
	kill  context.CancelFunc
}

func (d *dying) Send(ctx context.Context, e Event) error {
	if d.takes == len(d.heard) {
		d.kill()
		<-ctx.Done()
		return ctx.Err()
	}
	d.heard = append(d.heard, e)
	return nil
}

// Wherever an exporter is killed, the next one of its name resumes with the event that was not sent
// completely: none is lost, a repeated one is the same to the last byte, and completed ones do not
// come again.
func TestAnExporterThatIsKilledLosesNothing(t *testing.T) {
	t.Parallel()
	for takes := range 5 {
		x, bus := exporter(t, &receiver{})
		if _, err := bus.Listen(t.Context(), "openlineage", kinds(), time.Millisecond); !errors.Is(err, events.ErrEmpty) {
			t.Fatal(err) // it listens from now on
		}
		var want []Event
		for _, run := range []string{"monday", "tuesday"} {
			publish(t, bus, run, trained(false))
		}
		for recorded, err := range bus.Read(t.Context(), events.Query{Kinds: kinds()}) {
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, x.Of(recorded, nil)...)
		}
		var heard []Event
		for _, n := range []int{takes, len(want) - takes + takes%2} {
			ctx, kill := context.WithTimeout(t.Context(), time.Minute)
			d := &dying{takes: n, kill: kill}
			x.Sender = d
			// Published after those that count: the second exporter is killed too, once it has sent
			// all of them.
			publish(t, bus, "wednesday", trained(false))
			if err := x.Follow(ctx, "openlineage"); err != nil {
				t.Fatal(err)
			}
			heard = append(heard, d.heard...)
		}
		if takes%2 == 1 { // killed between the two run events of one event
			heard = append(heard[:takes-1:takes-1], heard[takes:]...)
		}
		if !reflect.DeepEqual(heard, want) {
			t.Errorf("killed after %d events: heard %+v, want %+v", takes, heard, want)
		}
	}
}
