package local

import (
	"errors"
	"os"
	"slices"
	"testing"
)

func TestAServerStartsOnItsLastPortWhileThatIsFree(t *testing.T) {
	t.Parallel()
	const taken = 4000
	for name, c := range map[string]struct {
		asked, last int
		tried       []int
	}{
		"the first time":          {0, 0, []int{0}},
		"again":                   {0, 4222, []int{4222}},
		"on a port that is taken": {0, taken, []int{taken, 0}},
		"at the given port":       {4333, 4222, []int{4333}},
	} {
		var tried []int
		_, err := onPort(c.asked, c.last, func(port int) (struct{}, error) {
			if tried = append(tried, port); port == taken {
				return struct{}{}, errors.New("port is taken")
			}
			return struct{}{}, nil
		})
		if err != nil || !slices.Equal(tried, c.tried) {
			t.Errorf("%s: tried %v, want %v; %v", name, tried, c.tried, err)
		}
	}
}

func TestPortsAreKeptInTheDataFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if got := lastPorts(dir); got != (ports{}) {
		t.Errorf("new folder: %+v", got)
	}
	if err := (Connection{NATS: "nats://stoker:secret@127.0.0.1:4222", S3: "http://127.0.0.1:9000"}).keepPorts(dir); err != nil {
		t.Fatal(err)
	}
	if got := lastPorts(dir); got != (ports{Bus: 4222, S3: 9000}) {
		t.Errorf("kept %+v", got)
	}
	if err := os.WriteFile(portsFile(dir), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := lastPorts(dir); got != (ports{}) {
		t.Errorf("half a file: %+v", got)
	}
}
