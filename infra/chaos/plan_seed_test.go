package chaos

import (
	"reflect"
	"testing"
)

func TestTheSameSeedMakesTheSamePlan(t *testing.T) {
	t.Parallel()
	one, same, other := plan{seed: 7, jobs: 300}, plan{seed: 7, jobs: 300}, plan{seed: 8, jobs: 300}
	for name, of := range map[string]func(plan) any{
		"workers":     func(p plan) any { return p.workerCuts() },
		"dispatchers": func(p plan) any { return p.dispatcherCuts() },
		"bus":         func(p plan) any { return p.busStops() },
		"connections": func(p plan) any { return p.rand(streamConnections + 3).Uint64() },
	} {
		if !reflect.DeepEqual(of(one), of(same)) {
			t.Errorf("%s: one seed, two plans", name)
		}
		if reflect.DeepEqual(of(one), of(other)) {
			t.Errorf("%s: two seeds, one plan", name)
		}
	}
}
