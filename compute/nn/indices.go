package nn

import farm "github.com/dgryski/go-farm"

// indexKernelOf are the ops that turn what was in the data into indices, and indices into numbers. No gradient goes through
// them, so they never reach Gorgonia.
func indexKernelOf(op Op) stepFunc {
	switch op {
	case OpCast:
		return cast
	case OpOneHot:
		return oneHot
	case OpVocab:
		return vocab
	case OpHash:
		return hash
	case OpClamp:
		return clamp
	}
	return nil
}

func cast(s *step, _ int) error {
	for i, x := range s.in[0].Ints {
		s.out.Floats[i] = float32(x)
	}
	return nil
}

func oneHot(s *step, _ int) error {
	depth := s.node.Attr.Depth
	clear(s.out.Floats)
	for i, id := range s.in[0].Ints {
		if id >= 0 && id < int64(depth) {
			s.out.Floats[i*depth+int(id)] = 1
		}
	}
	return nil
}

// vocabIndex is where each token stands; the first of equal ones counts.
func vocabIndex(tokens []string) map[string]int64 {
	m := make(map[string]int64, len(tokens))
	for i, token := range tokens {
		if _, twice := m[token]; !twice {
			m[token] = int64(i)
		}
	}
	return m
}

func vocab(s *step, _ int) error {
	for i, token := range s.in[0].Strings {
		id, ok := s.vocab[string(token)]
		if !ok {
			id = int64(s.node.Attr.Depth - 1)
		}
		s.out.Ints[i] = id
	}
	return nil
}

// hash is what TensorFlow's StringToHashBucketFast does: FarmHash Fingerprint64 modulo the number of buckets.
func hash(s *step, _ int) error {
	for i, token := range s.in[0].Strings {
		s.out.Ints[i] = int64(farm.Fingerprint64(token) % uint64(s.node.Attr.Depth))
	}
	return nil
}

func clamp(s *step, _ int) error {
	last := int64(s.node.Attr.Depth - 1)
	for i, id := range s.in[0].Ints {
		if id < 0 || id >= last {
			id = last
		}
		s.out.Ints[i] = id
	}
	return nil
}
