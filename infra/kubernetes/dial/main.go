// Command dial waits, tries to connect to each address, and prints whether it could: "HOST:PORT
// open" or "HOST:PORT closed: REASON". It shows what a network policy lets a pod reach once it is
// enforced, which is some seconds after the pod has started. Usage: dial DURATION HOST:PORT...
package main

import (
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

func main() {
	delay, err := time.ParseDuration(os.Args[1])
	if err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	time.Sleep(delay)
	results := make([]string, len(os.Args)-2)
	var tries sync.WaitGroup
	for i, address := range os.Args[2:] {
		tries.Go(func() {
			conn, err := net.DialTimeout("tcp", address, 5*time.Second)
			if err != nil {
				results[i] = fmt.Sprintf("%s closed: %v", address, err)
				return
			}
			conn.Close()
			results[i] = address + " open"
		})
	}
	tries.Wait()
	for _, result := range results {
		fmt.Println(result)
	}
}
