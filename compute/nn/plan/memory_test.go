package plan

import (
	"math/rand"
	"testing"

	"gorgonia.org/gorgonia"
)

// checkMemory tracks the last writer of each element: an instruction must read what was computed
// for it.
func checkMemory(t testing.TB, p *Plan) {
	t.Helper()
	writers := map[Home]map[int]int{Arena: {}, Grads: {}} // of each float, the buffer
	write := func(i int) {
		if p.Buffers[i].Kind == Int {
			return
		}
		for at := range p.Buffers[i].Len() {
			writers[p.Buffers[i].Home][p.Buffers[i].At+at] = i
		}
	}
	read := func(i int, by string) {
		b := p.Buffers[i]
		if b.Home == Bound || b.Kind == Int {
			return
		}
		for at := range b.Len() {
			w, ok := writers[b.Home][b.At+at]
			if v := p.Buffers[w]; !ok || v.At != b.At || v.Len() != b.Len() {
				t.Fatalf("%s reads %q at %d, which %q has written over", by, b.Name, at, v.Name)
			}
		}
	}
	for _, i := range p.Inputs {
		write(i)
	}
	for _, in := range p.Code {
		for _, i := range in.In {
			read(i, in.Node)
		}
		if in.Product.Add || in.Add {
			read(in.Out, in.Node)
		}
		write(in.Out)
	}
	read(p.Loss, "who wants the loss")
	for name, i := range p.Outputs {
		read(i, name)
	}
	for _, i := range p.Inputs {
		read(i, "the next step")
	}
}

func TestWhatIsReadIsWhatWasComputed(t *testing.T) {
	t.Parallel()
	for _, name := range sortedKeys(known) {
		p, err := Compile(write(t, 1, func(w *written) *gorgonia.Node { return w.weighted(known[name](w)) }).e)
		if err != nil {
			t.Fatal(err)
		}
		checkMemory(t, p)
	}
}

func TestAnArenaReusesWhatWasGivenBack(t *testing.T) {
	t.Parallel()
	var a arena
	r := rand.New(rand.NewSource(1))
	var held []span
	for range 5000 {
		if len(held) > 0 && r.Intn(2) == 0 {
			i := r.Intn(len(held))
			a.give(held[i])
			held = append(held[:i], held[i+1:]...)
			continue
		}
		s := a.take(1 + r.Intn(100))
		for _, h := range held {
			if s.from < h.to && h.from < s.to {
				t.Fatalf("%v was given while %v was held", s, h)
			}
		}
		held = append(held, s)
	}
	for _, h := range held {
		a.give(h)
	}
	if len(a.gaps) != 1 || a.gaps[0] != (span{0, a.size}) {
		t.Errorf("all was given back, and %v of %d is free", a.gaps, a.size)
	}
}
