package events

import (
	"testing"

	"github.com/cloudevents/sdk-go/v2/binding/format"
	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
)

func TestFactsComeBackFromTheSDKsType(t *testing.T) {
	t.Parallel()
	for _, kind := range Kinds() {
		want := sampleFact(kind)
		cloud, err := want.CloudEvent()
		if err != nil {
			t.Fatal(err)
		}
		if err := cloud.Validate(); err != nil {
			t.Errorf("%s: the SDK says: %v", kind, err)
		}
		got, err := FromCloudEvent(cloud)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
}

func TestTheSDKReadsWhatWeWriteStructured(t *testing.T) {
	t.Parallel()
	want := sampleFact(KindModelTrained)
	_, body, err := EncodeStructured(want)
	if err != nil {
		t.Fatal(err)
	}
	var cloud event.Event
	if err := format.JSON.Unmarshal(body, &cloud); err != nil {
		t.Fatal(err)
	}
	got, err := FromCloudEvent(cloud)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWeReadWhatTheSDKWritesStructured(t *testing.T) {
	t.Parallel()
	want := sampleFact(KindTransformReady)
	cloud, err := want.CloudEvent()
	if err != nil {
		t.Fatal(err)
	}
	cloud.SetExtension("attempt", 3)
	body, err := format.JSON.Marshal(&cloud)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(nil, body)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEventsOfTheSDKThatAreNoFactsAreRefused(t *testing.T) {
	t.Parallel()
	_, err := FromCloudEvent(event.Event{})
	wantInvalid(t, "empty", err, "specversion")
	_, err = FromCloudEvent(event.New("0.3"))
	wantInvalid(t, "old", err, "specversion")
	other := event.New()
	other.SetType("com.example.other")
	_, err = FromCloudEvent(other)
	wantInvalid(t, "another's", err, "type")
}
