package main

import (
	"bufio"
	"log/slog"
	"os"
	"regexp"
)

// logStderr sends to log what libraries write to os.Stderr by themselves, from now until the process ends. The embedded S3 server
// reports errors of requests there, in color.
func logStderr(log *slog.Logger) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	os.Stderr = w
	go func() { // ends with the process
		lines := bufio.NewReader(r)
		for {
			line, _, err := lines.ReadLine() // a long one in parts
			if err != nil {
				return
			}
			log.Warn("an embedded server reports an error", "error", string(colors.ReplaceAll(line, nil)))
		}
	}()
	return nil
}

var colors = regexp.MustCompile(`\x1b\[[0-9;]*m`)
