package process_test

import (
	"bufio"
	"fmt"
	"io"

	"github.com/stoker-ml/stoker/functions/runner/process"
)

// A child process reads its standard input, prints, and reports on the descriptor for progress. End
// kills it with everything that it has started.
func Example() {
	supervisor, err := process.Open("")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer supervisor.Close()
	p, err := supervisor.Start(process.Command{
		Line: []string{"/bin/sh", "-c", "read -r name; sleep 1000 & echo hello $name; echo step 1 >&3; wait"},
		Env:  []string{"PATH=/usr/bin:/bin"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.End()
	if _, err := io.WriteString(p.Stdin, "penguin\n"); err != nil {
		fmt.Println(err)
		return
	}
	for _, pipe := range []io.Reader{p.Output, p.Progress} {
		line, err := bufio.NewReader(pipe).ReadString('\n')
		fmt.Printf("%q %v\n", line, err)
	}
	// Output:
	// "hello penguin\n" <nil>
	// "step 1\n" <nil>
}
