package bustest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
)

func requestTests() map[string]func(*testing.T, Bus) {
	return map[string]func(*testing.T, Bus){
		"a request has the reply of the process that serves its subject": requestReplied,
		"a subject without a process that serves it says so":             requestUnserved,
		"requests are handled one at a time, in their order":             requestOrder,
		"each of many requests at once has its own reply":                requestAtOnce,
		"a request without a reply ends with its context":                requestSilent,
		"of several processes the first that replies is heard":           requestSeveral,
		"a request that is too large says so":                            requestTooLarge,
		"the largest request and reply are carried whole":                requestLargest,
		"stopping waits for the request that is handled":                 requestStopped,
	}
}

// echo replies with the request, of an empty one too.
func echo(body []byte) []byte { return append([]byte{}, body...) }

// serve serves a subject until the test ends.
func serve(t *testing.T, bus Bus, subject string, handle func([]byte) []byte) (stop func()) {
	t.Helper()
	stop, err := bus.Serve(t.Context(), subject, handle)
	must(t, err)
	stop = sync.OnceFunc(stop)
	t.Cleanup(stop)
	return stop
}

// request returns the reply, which comes soon.
func request(t *testing.T, bus Bus, subject string, body []byte) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	reply, err := bus.Request(ctx, subject, body)
	must(t, err)
	return reply
}

// ask returns the error of a request.
func ask(t *testing.T, bus Bus, subject string) error {
	ctx, cancel := context.WithTimeout(t.Context(), 4*soon)
	defer cancel()
	_, err := bus.Request(ctx, subject, nil)
	return err
}

func requestReplied(t *testing.T, bus Bus) {
	serve(t, bus, "hosts.cpu.a.0", func(body []byte) []byte { return append([]byte("0: "), body...) })
	serve(t, bus, "hosts.cpu.a.1", func(body []byte) []byte { return append([]byte("1: "), body...) })
	for range 3 {
		wantSame(t, string(request(t, bus, "hosts.cpu.a.1", []byte("hello"))), "1: hello")
		wantSame(t, string(request(t, bus, "hosts.cpu.a.0", nil)), "0: ")
	}
}

func requestUnserved(t *testing.T, bus Bus) {
	wantError(t, ask(t, bus, "hosts.cpu.a.0"), events.ErrNoResponders)
	stop := serve(t, bus, "hosts.cpu.a.0", echo)
	must(t, ask(t, bus, "hosts.cpu.a.0"))
	wantError(t, ask(t, bus, "hosts.cpu.a"), events.ErrNoResponders)
	stop()
	wantError(t, ask(t, bus, "hosts.cpu.a.0"), events.ErrNoResponders)
}

func requestOrder(t *testing.T, bus Bus) {
	var handled []string // without a lock: the race detector sees two at once
	serve(t, bus, "served", func(body []byte) []byte {
		handled = append(handled, string(body))
		return body
	})
	var want []string
	for n := range 20 {
		want = append(want, fmt.Sprint(n))
		request(t, bus, "served", []byte(want[n]))
	}
	if !slices.Equal(handled, want) {
		t.Errorf("handled %v", handled)
	}
}

func requestAtOnce(t *testing.T, bus Bus) {
	serve(t, bus, "served", echo)
	var group sync.WaitGroup
	for n := range 50 {
		group.Go(func() {
			body := fmt.Sprint(n)
			ctx, cancel := context.WithTimeout(t.Context(), soon)
			defer cancel()
			if reply, err := bus.Request(ctx, "served", []byte(body)); err != nil || string(reply) != body {
				t.Errorf("the reply to %s is %s, %v", body, reply, err)
			}
		})
	}
	group.Wait()
}

func requestSilent(t *testing.T, bus Bus) {
	handled := make(chan struct{}, 1)
	serve(t, bus, "served", func([]byte) []byte { handled <- struct{}{}; return nil })
	late := errors.New("late")
	ctx, cancel := context.WithTimeoutCause(t.Context(), now, late)
	defer cancel()
	_, err := bus.Request(ctx, "served", nil)
	wantError(t, err, late)
	<-handled
}

func requestSeveral(t *testing.T, bus Bus) {
	heard := make(chan struct{}, 1)
	serve(t, bus, "served", func([]byte) []byte { heard <- struct{}{}; return nil })
	serve(t, bus, "served", func([]byte) []byte { return []byte("mine") })
	wantSame(t, string(request(t, bus, "served", nil)), "mine")
	<-heard
}

func requestTooLarge(t *testing.T, bus Bus) {
	serve(t, bus, "served", func([]byte) []byte { t.Error("handled"); return nil })
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	_, err := bus.Request(ctx, "served", make([]byte, events.RequestBytes+1))
	wantError(t, err, events.ErrTooLarge)
	if !strings.Contains(fmt.Sprint(err), fmt.Sprint(events.RequestBytes+1)) {
		t.Errorf("%v: how large is it?", err)
	}
}

func requestLargest(t *testing.T, bus Bus) {
	serve(t, bus, "served", echo)
	body := bytes.Repeat([]byte("x"), events.RequestBytes)
	if !bytes.Equal(request(t, bus, "served", body), body) {
		t.Error("the reply is another one")
	}
}

func requestStopped(t *testing.T, bus Bus) {
	begun, may := make(chan struct{}), make(chan struct{})
	ended := false
	stop := serve(t, bus, "served", func([]byte) []byte {
		close(begun)
		<-may
		ended = true
		return []byte{}
	})
	var group sync.WaitGroup
	group.Go(func() { _ = ask(t, bus, "served") })
	<-begun
	group.Go(func() { time.Sleep(now / 10); close(may) })
	stop()
	if !ended {
		t.Error("stop has returned while a request was handled")
	}
	group.Wait()
}
