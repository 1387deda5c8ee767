package join_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

func queue(runs int) *pipeline.Concurrency {
	return &pipeline.Concurrency{Runs: runs, Newest: pipeline.NewestQueue}
}

func supersede(runs int) *pipeline.Concurrency {
	return &pipeline.Concurrency{Runs: runs, Newest: pipeline.NewestSupersede}
}

// ready returns a run that was completed by the event with that number.
func ready(sequence int) join.Join {
	return join.New("penguin", fmt.Sprint(sequence)).Add(at(sequence, "t", graph()))
}

// picture draws an admission: admitted runs | waiting runs, a superseded one with its successor.
func picture(g join.Admission) string {
	var admitted, waiting []string
	for _, place := range g.Admitted {
		admitted = append(admitted, place.Run)
	}
	for _, place := range g.Waiting {
		waiting = append(waiting, strings.TrimSuffix(place.Run+"<"+place.SupersededBy, "<"))
	}
	return strings.Join(admitted, " ") + " | " + strings.Join(waiting, " ")
}

func TestAdmitAdmitsAsManyRunsAsTheLimitAllows(t *testing.T) {
	t.Parallel()
	type step func(join.Admission) join.Admission
	enter := func(sequence int) step {
		return func(g join.Admission) join.Admission { return g.Add(ready(sequence)) }
	}
	leave := func(run string) step { return func(g join.Admission) join.Admission { return g.Remove(run) } }
	paused := func(p bool) step { return func(g join.Admission) join.Admission { g.Paused = p; return g } }
	for name, tc := range map[string]struct {
		limit *pipeline.Concurrency
		steps []step
		want  string
	}{
		"no limit":                       {nil, []step{enter(2), enter(1), enter(3)}, "2 1 3 | "},
		"a limit":                        {queue(1), []step{enter(1), enter(2), enter(3)}, "1 | 2 3"},
		"a removed run lets another in":  {queue(1), []step{enter(1), enter(2), enter(3), leave("1")}, "2 | 3"},
		"a waiting run may be removed":   {queue(1), []step{enter(1), enter(2), enter(3), leave("2")}, "1 | 3"},
		"twice is once":                  {queue(1), []step{enter(1), enter(1), enter(2), enter(2)}, "1 | 2"},
		"removing twice lets no more in": {queue(1), []step{enter(1), enter(2), enter(3), leave("1"), leave("1")}, "2 | 3"},
		"they wait in the order in which they became ready": {queue(1), []step{enter(1), enter(4), enter(2), enter(3)}, "1 | 2 3 4"},
		"paused":                          {nil, []step{paused(true), enter(2), enter(1)}, " | 1 2"},
		"paused, those with a place stay": {queue(1), []step{enter(1), paused(true), enter(2)}, "1 | 2"},
		"resumed":                         {nil, []step{paused(true), enter(2), enter(1), paused(false)}, "1 2 | "},
		"resumed with a limit":            {queue(1), []step{paused(true), enter(2), enter(1), paused(false)}, "1 | 2"},
		"the newest supersedes":           {supersede(1), []step{enter(1), enter(2), enter(3)}, "1 | 2<3 3"},
		"and again":                       {supersede(1), []step{enter(1), enter(2), enter(3), enter(4)}, "1 | 2<3 3<4 4"},
		"one that has begun goes on":      {supersede(2), []step{enter(1), enter(2), enter(3)}, "1 2 | 3"},
		"the superseded is never let in":  {supersede(1), []step{enter(1), enter(2), enter(3), leave("1"), leave("3")}, " | 2<3"},
		"an older one that comes late":    {supersede(1), []step{enter(1), enter(3), enter(2)}, "1 | 2<3 3"},
		"older than one that has begun":   {supersede(1), []step{enter(3), enter(2)}, "3 | 2<3"},
		"paused, the newest supersedes":   {supersede(1), []step{paused(true), enter(1), enter(2), paused(false)}, "2 | 1<2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var gate join.Admission
			for _, step := range tc.steps {
				gate = step(gate).Admit(tc.limit)
			}
			if got := picture(gate); got != tc.want {
				t.Errorf("gate is %q, want %q", got, tc.want)
			}
			if again := picture(gate.Admit(tc.limit)); again != tc.want {
				t.Errorf("settled twice it is %q", again)
			}
		})
	}
}

// Whatever happens: never more runs are admitted than the limit allows, none twice, none disappears
// that was not removed, and never is an older one admitted before a newer one if the newest
// supersedes.
func TestAnAdmissionNeitherLosesNorDoublesARun(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		limit := []*pipeline.Concurrency{nil, queue(1), queue(3), supersede(1), supersede(2)}[random.IntN(5)]
		var gate join.Admission
		inside := map[string]bool{}
		for i := range 60 {
			switch random.IntN(4) {
			case 0, 1:
				run := ready(1 + random.IntN(30))
				gate, inside[run.Run] = gate.Add(run), true
			case 2:
				run := fmt.Sprint(1 + random.IntN(30))
				gate = gate.Remove(run)
				delete(inside, run)
			case 3:
				gate.Paused = random.IntN(2) == 0
			}
			gate = gate.Admit(limit)
			seen := map[string]int{}
			for _, place := range append(append([]join.Position{}, gate.Admitted...), gate.Waiting...) {
				seen[place.Run]++
			}
			if len(seen) != len(inside) || len(seen) != len(gate.Admitted)+len(gate.Waiting) || limit != nil && len(gate.Admitted) > limit.Runs {
				t.Fatalf("seed %d, step %d, limit %+v: gate %q, want %v", seed, i, limit, picture(gate), inside)
			}
		}
	}
}

func TestRunsAheadOfOneThatWaits(t *testing.T) {
	t.Parallel()
	two := queue(2)
	gate := join.Admission{}
	for i := range 4 {
		gate = gate.Add(ready(i + 1)).Admit(two)
	}
	paused := gate
	paused.Paused = true
	last := gate.Remove("1", "2", "3").Admit(nil).Add(ready(9))
	for name, tc := range map[string]struct {
		gate join.Admission
		run  string
		want string
	}{
		"it has a place":    {gate, "2", ""},
		"it is not there":   {gate, "7", ""},
		"the next":          {gate, "3", "waits for its turn: 2 runs before it"},
		"the one after":     {gate, "4", "waits for its turn: 3 runs before it"},
		"one has the place": {last, "9", "waits for its turn: 1 run before it"},
		"paused":            {paused, "3", "its pipeline is paused"},
		"paused later":      {paused, "2", ""},
	} {
		if got := tc.gate.Why(tc.run); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestAnAdmissionStaysWithinOneMessage(t *testing.T) {
	t.Parallel()
	gate := join.Admission{Paused: true}
	for i := range 1500 {
		gate = gate.Add(ready(i + 1)).Admit(nil)
	}
	if len(gate.Waiting) != 1000 || gate.IsOpen() {
		t.Errorf("%d wait", len(gate.Waiting))
	}
	if ahead, waits := gate.Ahead("12"); !waits || ahead != 11 {
		t.Errorf("run 12 has %d before it, %t", ahead, waits)
	}
	if _, waits := gate.Ahead("1200"); waits {
		t.Error("a run that is not listed has a position")
	}
}
