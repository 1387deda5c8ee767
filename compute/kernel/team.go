package kernel

// Team is the threads that compute one thing together. Work is divided by what is written, so that the number of threads never
// shows in a result. The zero Team, and a nil one, is the caller alone. Not for concurrent use; Close it.
//
// Waking a thread costs microseconds, so that what is too small for that is done by the caller alone: each kernel knows its grain.
type Team struct {
	threads int
}

// NewTeam makes a Team of that many threads, the caller's among them; what is below 1 counts as 1.
func NewTeam(threads int) *Team { return &Team{threads: max(threads, 1)} }

// Threads is how many there are, 1 for a nil Team.
func (t *Team) Threads() int {
	if t == nil || t.threads < 1 {
		return 1
	}
	return t.threads
}

// Close ends the threads. A Team that is closed computes alone.
func (t *Team) Close() {
	if t != nil {
		t.threads = 1
	}
}

// Range calls do for parts of 0..n that together are all of it, each of at least grain elements but the last, at once where there
// are threads for it, and returns when all are done. Parts begin at multiples of 16.
func (t *Team) Range(n, grain int, do func(from, to int)) { do(0, n) }
