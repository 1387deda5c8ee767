// Package find looks for runs, and for the searches that belong to them, by what people call them, and gathers what the log of facts, the
// registers and the dead letters know of one. What a run's state follows from is functions/runs. Read List and Of first.
package find
