package tune

// InWords returns the reason as text for people, after "finished:". An unknown reason is returned
// as it is.
func (w Why) InWords() string {
	words := map[Why]string{
		Exhausted: "nothing is left to try", MaxTrials: "it had its trials", OutOfTime: "it had its time",
		GoalReached: "its goal is reached", NoBetter: "nothing better was found for long", Failing: "too many trials failed in a row",
		Stopped: "it was stopped", Cancelled: "it was cancelled",
	}[w]
	if words == "" {
		return string(w)
	}
	return words
}
