package tfrecord

import (
	"fmt"
	"os"
	"strconv"
)

// DefaultLimit is how many bytes a record may have unless EnvLimit or Reader.Limit sets another
// limit. A gzip file may unpack to a thousand times its size, and a record is held in memory as a
// whole.
const DefaultLimit = 256 << 20

// EnvLimit is the environment variable that sets the limit of all records that a process reads, in
// MiB, from 1 to 2047.
const EnvLimit = "STOKER_MAX_RECORD_MIB"

const mostMiB = maxLength >> 20

// limit is set once, at start.
var limit = chooseLimit(os.Getenv(EnvLimit))

// CurrentLimit returns how many bytes a record may have in this process.
func CurrentLimit() int { return limit }

// CheckLimit returns an error if EnvLimit has an invalid value; DefaultLimit is used then. Programs
// call it when they start.
func CheckLimit() error { return checkLimit(os.Getenv(EnvLimit)) }

func checkLimit(asked string) error {
	if _, err := parseLimit(asked); asked != "" && err != nil {
		return fmt.Errorf("%s=%q: expected a number of MiB from 1 to %d, or nothing for %d", EnvLimit, asked, mostMiB, DefaultLimit>>20)
	}
	return nil
}

func chooseLimit(asked string) int {
	if bytes, err := parseLimit(asked); err == nil {
		return bytes
	}
	return DefaultLimit
}

func parseLimit(asked string) (bytes int, err error) {
	mib, err := strconv.ParseUint(asked, 10, 31)
	if err != nil {
		return 0, err
	}
	if mib < 1 || mib > mostMiB {
		return 0, strconv.ErrRange
	}
	return int(mib << 20), nil
}
