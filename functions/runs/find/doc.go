// Package find finds runs, and the studies that belong to them, by name, and reads what the log of
// events, the key-value buckets and the dead letters hold of one. functions/runs derives a run's
// state from that. Read List and Of first.
package find
