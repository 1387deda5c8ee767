package main

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// site is the folder in which task docs builds the web site.
const site = "../../bin/site"

// policy has the browser refuse, and report as an error, what comes from another host.
const policy = "default-src 'self' data: blob: 'unsafe-inline'"

// openSite serves the site, and starts a browser.
func openSite(t *testing.T) (browser context.Context, url string) {
	t.Helper()
	files := http.FileServer(http.Dir(site + "/html"))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	t.Cleanup(cancel)
	browser, end, err := open(ctx)
	t.Cleanup(end)
	if err != nil {
		t.Fatal(err)
	}
	return browser, server.URL
}

// pages returns the paths of the site's pages.
func pages(t *testing.T) (all []string) {
	t.Helper()
	root := os.DirFS(site + "/html")
	err := fs.WalkDir(root, ".", func(name string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".html") && name != "404.html" {
			all = append(all, name)
		}
		return err
	})
	if err != nil || len(all) < 30 {
		t.Fatalf("the site has %d pages (error %v): task docs builds it", len(all), err)
	}
	return all
}

// reading is what the browser says of a page.
type reading struct {
	Dark     bool     // whether the theme is dark
	Wide     []string // elements that reach beyond the window, and can't be scrolled to
	Pictures []string // that are shown
	Missing  []string // pictures that aren't
}

const read = `(() => {
	const width = document.documentElement.clientWidth, shown = one => one.complete && one.naturalWidth > 0 && one.getBoundingClientRect().height > 20;
	const scrolls = one => one && (['auto', 'scroll'].includes(getComputedStyle(one).overflowX) || scrolls(one.parentElement));
	const pictures = [...document.querySelectorAll('article img')];
	const name = one => getComputedStyle(one).content.split('"')[1] || one.currentSrc;
	return {
		Dark: document.body.dataset.mdColorScheme === 'slate',
		Wide: [...document.querySelectorAll('header *, article, article *, footer *')].filter(one => one.getBoundingClientRect().right > width + 1 && !scrolls(one)).map(one => one.outerHTML.slice(0, 200)),
		Pictures: pictures.filter(shown).map(name),
		Missing: pictures.filter(one => !shown(one)).map(name),
	};
})()`

// Each page can be read wide and narrow, light and dark: nothing is cut off, pictures are shown,
// and the browser reports no error. STOKER_SHOTS names a folder for pictures of what a window shows
// first.
func TestEachPageCanBeRead(t *testing.T) {
	browser, url := openSite(t)
	for _, page := range pages(t) {
		t.Run(page, func(t *testing.T) {
			heard := listen(browser)
			err := chromedp.Run(browser, log.Enable(), runtime.Enable(), chromedp.Navigate(url+"/"+page), chromedp.WaitVisible("article h1"))
			if err != nil {
				t.Fatal(err)
			}
			for _, width := range []int64{390, 1440} {
				for _, scheme := range []string{"light", "dark"} {
					checkPage(t, browser, url, page, width, scheme)
				}
			}
			if errors := heard(); len(errors) > 0 {
				t.Errorf("the browser reports %q", errors)
			}
		})
	}
}

// checkPage checks the page that the browser has open.
func checkPage(t *testing.T, browser context.Context, url, page string, width int64, scheme string) {
	t.Helper()
	var found reading
	err := chromedp.Run(browser,
		emulation.SetDeviceMetricsOverride(width, 1600, 1, false),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		chromedp.Poll(fmt.Sprintf(`innerWidth === %d && (%s).Dark === %t`, width, read, scheme == "dark"), nil, chromedp.WithPollingTimeout(10*time.Second)),
		chromedp.Evaluate(read, &found),
	)
	if err != nil {
		t.Fatalf("%d, %s: %v", width, scheme, err)
	}
	if len(found.Wide)+len(found.Missing) > 0 {
		t.Errorf("%d, %s: cut off %q; pictures not shown %q", width, scheme, found.Wide, found.Missing)
	}
	for _, want := range pictures(page, scheme) {
		if !slices.Contains(found.Pictures, url+"/"+want) {
			t.Errorf("%d, %s: %s is not shown, but %q", width, scheme, want, found.Pictures)
		}
	}
	shots := os.Getenv("STOKER_SHOTS")
	if shots == "" {
		return
	}
	var shot []byte
	name := fmt.Sprintf("%s-%d-%s.png", strings.ReplaceAll(strings.TrimSuffix(page, ".html"), "/", "-"), width, scheme)
	if err := chromedp.Run(browser, chromedp.CaptureScreenshot(&shot)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(shots, name), shot, 0o644); err != nil {
		t.Fatal(err)
	}
}

// pictures returns the pictures that a page shows.
func pictures(page, scheme string) []string {
	switch page {
	case "index.html":
		return []string{map[string]string{"light": "infra/docs/dataflow.svg", "dark": "infra/docs/dataflow-dark.svg"}[scheme]}
	case "infra/docs/contributing/architecture.html":
		return []string{"infra/docs/contributing/components.svg", "infra/docs/contributing/event.svg"}
	}
	return nil
}

// The search finds a word, and its results lead to pages that have it.
func TestTheSearchLeadsToAPageWithTheWord(t *testing.T) {
	tab, url := openSite(t)
	const word = "lease"
	const results = `[...document.querySelectorAll('*')].filter(one => one.shadowRoot).flatMap(one => [...one.shadowRoot.querySelectorAll('[role=listbox] a')]).map(one => one.href)`
	heard := listen(tab)
	var found []string
	var text string
	err := chromedp.Run(tab, log.Enable(), runtime.Enable(),
		chromedp.Navigate(url+"/index.html"), chromedp.Click(".md-search__button"), chromedp.Sleep(500*time.Millisecond),
		chromedp.KeyEvent(word), chromedp.Poll(results+`.length > 0`, nil, chromedp.WithPollingTimeout(time.Minute)),
		chromedp.Evaluate(results, &found), chromedp.ActionFunc(func(ctx context.Context) error { return chromedp.Navigate(found[0]).Do(ctx) }),
		chromedp.WaitVisible("article h1"), chromedp.Evaluate(`document.querySelector('article').innerText`, &text))
	if err != nil {
		t.Fatal(err)
	}
	if errors := heard(); !strings.Contains(strings.ToLower(text), word) || len(errors) > 0 {
		t.Errorf("the first of the results %q has no %q; errors %q", found, word, errors)
	}
}

// The build refuses a link to a file or a heading that isn't there, and a page that no reader would
// find.
func TestTheBuildRefuses(t *testing.T) {
	for name, c := range map[string]struct{ page, text, want string }{
		"a link to a page":       {"infra/docs/gpu.md", "[x](nowhere.md)", "infra/docs/gpu.md: the link nowhere.md leads to no file"},
		"a link to other files":  {"infra/docs/gpu.md", "[x](../../nowhere.go)", "infra/docs/gpu.md: the link ../../nowhere.go leads to no file"},
		"a picture":              {"README.md", `<img src="infra/nowhere.svg">`, "README.md: the link infra/nowhere.svg leads to no file"},
		"a heading":              {"infra/docs/gpu.md", "[x](events.md#nowhere)", "anchor does not exist"},
		"a heading of this page": {"README.md", "[x](#nowhere)", "anchor does not exist"},
		"a page beyond the menu": {"infra/docs/new.md", "# New", "infra/docs/new.md: not in nav"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repository := copied(t)
			before, err := os.ReadFile(filepath.Join(repository, c.page))
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			// The file is a link to that of this repository.
			_ = os.Remove(filepath.Join(repository, c.page))
			if err := os.WriteFile(filepath.Join(repository, c.page), []byte(string(before)+"\n"+c.text+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			if said, err := build(t, repository); err == nil || !strings.Contains(said, c.want) {
				t.Errorf("error %v, output without %q:\n%s", err, c.want, said)
			}
		})
	}
}

// copied returns a folder with links to all files of this repository.
func copied(t *testing.T) string {
	t.Helper()
	to := t.TempDir()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	list, err := exec.CommandContext(t.Context(), "git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.Trim(string(list), "\x00"), "\x00") {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(root, name), filepath.Join(to, name)); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// build does in a copy what task docs does here.
func build(t *testing.T, repository string) (said string, err error) {
	t.Helper()
	bin, err := filepath.Abs(site + "/venv/bin")
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(repository, "bin/site")
	for _, args := range [][]string{
		{bin + "/python", filepath.Join(repository, "infra/site/pages.py"), to},
		{bin + "/zensical", "build", "--clean", "--strict", "-f", to + "/zensical.toml"},
	} {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "NO_COLOR=1")
		out, err := cmd.CombinedOutput()
		if said += string(out); err != nil {
			return said, err
		}
	}
	return said, nil
}
