package suggest

import (
	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// deck deals a study's configurations by number: first the opening's, then random ones, none twice.
// Which one a number has is a matter of the space and the seed alone, and not of what was tried
// before it; so trials in parallel get the same ones in any order.
type deck struct {
	study   *tune.Study
	opening []space.Values
	finite  bool
}

func newDeck(s *tune.Study) *deck { return &deck{s, opening(s), s.Config.Space.Size() > 0} }

// deal is configuration such and such; false if the space has not so many.
func (d *deck) deal(number int) (space.Values, bool) {
	if number < len(d.opening) {
		return d.opening[number], true
	}
	number -= len(d.opening)
	values, ok := d.random(number)
	if !ok {
		return nil, false
	}
	if had := tried(d.study); had[values.Key()] { // only in a space that has grown meanwhile
		return draw(d.study.Config.Space, space.NewStream(d.study.Config.Seed, number), had)
	}
	return values, true
}

// random draws a configuration. Where the space has an end all before it are drawn too, since none
// of them may come again; where it has none they are not met again.
func (d *deck) random(number int) (values space.Values, ok bool) {
	had := map[string]bool{}
	for _, values := range d.opening {
		had[values.Key()] = true
	}
	from := number
	if d.finite {
		from = 0
	}
	for n := from; n <= number; n++ {
		if values, ok = draw(d.study.Config.Space, space.NewStream(d.study.Config.Seed, n), had); !ok {
			return nil, false
		}
		had[values.Key()] = true
	}
	return values, true
}
