package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Spec is a page that is compared.
type Spec struct {
	Tool string `json:"tool"`
	Name string `json:"name"` // what it shows: pages with one name are compared
	URL  string `json:"url"`
	// Ready is an expression in JavaScript that is true once the page shows its data, since a page
	// may be loaded, and empty, long before.
	Ready string `json:"ready"`
}

// Visit are the figures of loading a page once, in milliseconds from asking for it.
type Visit struct {
	Load    float64 `json:"load_ms"`
	Painted float64 `json:"painted_ms"` // something for the first time
	Ready   float64 `json:"ready_ms"`   // the data is drawn
	Longest float64 `json:"longest_task_ms"`
	Sent    float64 `json:"sent"` // bytes of all responses on the wire, without those of workers
	Asked   int     `json:"asked"`
}

// Layout is how a page is at one width.
type Layout struct {
	Width    int      `json:"width"`
	Overflow int      `json:"overflow"` // pixels by which the page is wider than the window
	Serious  []string `json:"serious"`  // rules of axe that are violated seriously or critically
	Rules    int      `json:"rules"`    // that are violated at all
}

// Compared is all about one page.
type Compared struct {
	Spec
	First   Visit    `json:"first"` // with nothing in the browser's cache
	Visits  []Visit  `json:"visits"`
	Layouts []Layout `json:"layouts"`
}

// comparison says what is compared.
type comparison struct {
	Pages []Spec `json:"pages"` // of the console
	// The virtual environment of other tools, none without one, and the folder with their data; see
	// startPeers.
	Environment string `json:"environment"`
	Folder      string `json:"folder"`
	Runs        shown  `json:"runs"`
}

// survey says how pages are compared.
type survey struct {
	times      int
	widths     []int
	axe, shots string
	// How long a page may take until it shows its data.
	patience time.Duration
}

// patience is long enough for a page on a busy machine.
const patience = 8 * time.Minute

// compareFile compares the pages that a file names with those of other tools, whose servers it
// starts and ends.
func (s survey) compareFile(ctx context.Context, file string) ([]Compared, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var c comparison
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	peers := &Peers{}
	if c.Environment != "" {
		peers, err = startPeers(ctx, c.Environment, c.Folder, c.Runs)
		defer peers.Stop()
		if err != nil {
			return nil, err
		}
	}
	return s.compareAll(ctx, append(c.Pages, peers.Pages...))
}

// compareAll loads the pages in turn: once with an empty cache, once more, which is not reported,
// and then so many times. Each loading has a new tab, so that nothing but the browser's cache is
// left from the one before. Then each page is examined at each width.
func (s survey) compareAll(ctx context.Context, specs []Spec) ([]Compared, error) {
	all := make([]Compared, len(specs))
	for round := range s.times + 2 {
		for i, spec := range specs {
			one, err := s.visit(ctx, spec, round == 0)
			if err != nil {
				return nil, fmt.Errorf("%s, %s (%s): %w", spec.Tool, spec.Name, spec.URL, err)
			}
			switch all[i].Spec = spec; round {
			case 0:
				all[i].First = one
			case 1:
			default:
				all[i].Visits = append(all[i].Visits, one)
			}
		}
		fmt.Fprintf(os.Stderr, "loaded %d pages, round %d of %d\n", len(specs), round+1, s.times+2)
	}
	for i, spec := range specs {
		for _, width := range s.widths {
			layout, picture, err := s.layOut(ctx, spec, width)
			if err == nil && s.shots != "" {
				err = os.WriteFile(filepath.Join(s.shots, fmt.Sprintf("peers-%02d-%d.png", i+1, width)), picture, 0o644)
			}
			if err != nil {
				return nil, fmt.Errorf("%s, %s (%s), %d pixels wide: %w", spec.Tool, spec.Name, spec.URL, width, err)
			}
			all[i].Layouts = append(all[i].Layouts, layout)
		}
	}
	return all, nil
}

// whenReady keeps the time at which the expression was true and had been drawn.
const whenReady = `window.readyAt = 0; (look => look(look))(look => {
	let ready = false;
	try { ready = document.documentElement && (%s); } catch { }
	if (ready) requestAnimationFrame(() => setTimeout(() => { window.readyAt = performance.now(); }));
	else setTimeout(look, 20, look);
});`

// readFigures are the figures of a page that is loaded and ready.
const readFigures = `(() => { const n = performance.getEntriesByType('navigation')[0], paint = performance.getEntriesByName('first-contentful-paint')[0];
return {load_ms: n.loadEventEnd, painted_ms: paint ? paint.startTime : 0, ready_ms: window.readyAt, longest_task_ms: window.longest}; })()`

// visit loads a page in a new tab, and watches it for a while after it is ready.
func (s survey) visit(ctx context.Context, spec Spec, first bool) (v Visit, err error) {
	ctx, leave := chromedp.NewContext(ctx)
	defer leave()
	sent := count(ctx)
	err = chromedp.Run(ctx,
		network.Enable(), network.SetCacheDisabled(first),
		s.untilReady(spec), chromedp.Sleep(settled), chromedp.Evaluate(readFigures, &v),
	)
	v.Sent, v.Asked = sent()
	return v, err
}

// untilReady goes to a page and waits until it is loaded and shows its data.
func (s survey) untilReady(spec Spec) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		if _, err := page.AddScriptToEvaluateOnNewDocument(notes + fmt.Sprintf(whenReady, spec.Ready)).Do(ctx); err != nil {
			return err
		}
		within, stop := context.WithTimeout(ctx, s.patience)
		defer stop()
		err := chromedp.Navigate(spec.URL).Do(within)
		for ready := false; err == nil && !ready; {
			err = chromedp.Evaluate(`window.readyAt > 0 && document.readyState === 'complete'`, &ready).Do(within)
			if err == nil && !ready {
				err = chromedp.Sleep(50 * time.Millisecond).Do(within)
			}
		}
		if err != nil && within.Err() != nil && ctx.Err() == nil {
			return fmt.Errorf("it doesn't show its data within %v; it says %q", s.patience, beginning(ctx))
		}
		return err
	})
}

// beginning returns the beginning of what a page says.
func beginning(ctx context.Context) (text string) {
	within, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	if err := chromedp.Evaluate(`document.body.innerText.slice(0, 400)`, &text).Do(within); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(text), " ")
}

// count counts the requests of a tab, and the bytes of their responses.
func count(ctx context.Context) func() (bytes float64, requests int) {
	var mu sync.Mutex
	responses := map[network.RequestID]float64{}
	chromedp.ListenTarget(ctx, func(event any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			if strings.HasPrefix(e.Request.URL, "http") {
				responses[e.RequestID] += 0
			}
		case *network.EventDataReceived: // of a stream, too, which doesn't end
			if _, ok := responses[e.RequestID]; ok {
				responses[e.RequestID] += float64(e.EncodedDataLength)
			}
		case *network.EventLoadingFinished:
			if _, ok := responses[e.RequestID]; ok {
				responses[e.RequestID] = e.EncodedDataLength
			}
		}
	})
	return func() (bytes float64, requests int) {
		mu.Lock()
		defer mu.Unlock()
		for _, one := range responses {
			bytes += one
		}
		return bytes, len(responses)
	}
}

// violated returns the rules of axe that a page violates, with their impact.
const violated = `axe.run(document, {resultTypes: ['violations']}).then(r => JSON.stringify(r.violations.map(v => ({id: v.id, impact: v.impact}))))`

// layOut examines a page at one width.
func (s survey) layOut(ctx context.Context, spec Spec, width int) (l Layout, picture []byte, err error) {
	ctx, leave := chromedp.NewContext(ctx)
	defer leave()
	var answer string
	err = chromedp.Run(ctx,
		emulation.SetDeviceMetricsOverride(int64(width), 900, 1, false),
		s.untilReady(spec), chromedp.Sleep(2*settled),
		chromedp.Evaluate(`document.documentElement.scrollWidth - innerWidth`, &l.Overflow),
		chromedp.CaptureScreenshot(&picture),
		chromedp.Evaluate(s.axe+`; 0`, nil),
		chromedp.Evaluate(violated, &answer, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }),
	)
	var rules []struct{ ID, Impact string }
	if err == nil {
		err = json.Unmarshal([]byte(answer), &rules)
	}
	l.Width, l.Rules, l.Serious = width, len(rules), []string{}
	for _, rule := range rules {
		if rule.Impact == "serious" || rule.Impact == "critical" {
			l.Serious = append(l.Serious, rule.ID)
		}
	}
	return l, picture, err
}
