// Package console serves the web pages of one Stoker: an overview, runs as they progress, their
// curves, studies, the lineage of models, pipelines, workers and dead letters. It serves HTML that
// is made here, and loads nothing from elsewhere; pages work without JavaScript, and with it follow
// changes by server-sent events.
//
// A follower keeps what the pages need in memory (model), rebuilt from the bus at every start. A
// page is a function of that, and of the log, the studies and the store for the one thing that it
// shows. guard decides what a client may do (caller): clients of Options.Readers may read, and a
// session, which a browser gets for the token, may read and act. Read Console first.
package console

import (
	"cmp"
	"context"
	"errors"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/console/cache"
	"github.com/stoker-ml/stoker/functions/console/overview"
	"github.com/stoker-ml/stoker/functions/internal/peer"
	"github.com/stoker-ml/stoker/functions/runs/lineage"
	"github.com/stoker-ml/stoker/functions/runs/workers"
	"github.com/stoker-ml/stoker/storage"
	"golang.org/x/sync/errgroup"
)

// Options of a Console.
type Options struct {
	Bus   events.Bus
	Store storage.Store
	Root  storage.Ref // root of the artifacts: nothing outside it is shown or downloaded

	Token   string  // permits reading and acting, see SetToken; "": no client may act
	Readers Readers // the clients that may read without it
	// Names of the console in browsers, in addition to those of loopback: "stoker.example.org".
	Hosts []string

	Probes http.Handler // answers /healthz, /readyz and /metrics; nil: they are not served

	Command  string // the name of this program in commands to copy; default stoker
	Flags    string // flags to add to each command, such as --data
	MaxRuns  int    // runs kept in memory; those that ended longest ago are dropped; default 5,000
	Logger   *slog.Logger
	Now      func() time.Time
	Quietest time.Duration // least time between two updates of a page; default 0.5 s

	sameUser func(net.Conn) bool // peer.SameUser, except in tests
}

// Console serves the pages.
type Console struct {
	opts    Options
	model   *model
	studies *studyReader
	curves  *curveReader
	logs    *logReader
	workers *workers.Watch
	queues  *cache.Poll[[]events.QueueState]
	running *cache.Poll[[]summary] // studies
	// What the first page shows of runs.
	overview *overview.Cache
	pages    *template.Template
	shared   *shared
	sparks   *sparkReader
	batches  *batches
	sources  *cache.Cache[revisionKey, *sourceView]
	// Confusion matrices by address, and configurations of runs that have ended.
	confusions *cache.Cache[string, *confusionView]
	configured *cache.Cache[key, map[string]string]
	made       *cache.Cache[string, lineage.Made]
	previews   chan struct{} // has an item for each preview that is being made
	building   chan struct{} // has an item for each page that is being made
	handler    http.Handler

	sessions *sessions
	streams  streamLimits

	stopped context.Context // ended by Run: pages that follow must not keep a server from stopping
	stop    context.CancelFunc
}

// New returns an empty console: Run makes it follow the bus.
func New(opts Options) (*Console, error) {
	opts.Command = cmp.Or(opts.Command, "stoker")
	opts.MaxRuns = cmp.Or(opts.MaxRuns, 5000)
	opts.Quietest = cmp.Or(opts.Quietest, time.Second/2)
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.sameUser == nil {
		opts.sameUser = peer.SameUser
	}
	pages, err := parseTemplates()
	if err != nil {
		return nil, err
	}
	c := &Console{opts: opts, model: newModel(opts.Bus, opts.MaxRuns), studies: newStudyReader(opts.Bus), curves: newCurveReader(opts.Store), pages: pages}
	c.batches, c.sources = newBatches(), cache.New[revisionKey, *sourceView](maxSources)
	c.sessions = newSessions(opts.Token, opts.Now)
	c.shared = newShared(opts.Quietest/2, opts.Now)
	c.sparks = newSparkReader(c.curves.read, c.redraw)
	c.confusions, c.configured = cache.New[string, *confusionView](maxLogged), cache.New[key, map[string]string](maxLogged)
	c.made = cache.New[string, lineage.Made](maxLogged)
	c.previews = make(chan struct{}, maxPreviews)
	c.building = make(chan struct{}, maxBuilding)
	c.workers, c.overview = workers.NewWatch(opts.Now), overview.NewCache(min(overviewFresh, opts.Quietest))
	c.queues, c.running = cache.NewPoll(opts.Now, func(ctx context.Context) ([]events.QueueState, error) { return opts.Bus.Queues(ctx) }), cache.NewPoll(opts.Now, c.runningStudies)
	c.logs = newLogReader(opts.Bus, 2*opts.Quietest, opts.Now)
	c.stopped, c.stop = context.WithCancel(context.Background())
	c.handler = c.identify(c.withProbes(c.routes()))
	return c, nil
}

// server returns a server of the console: its handler, and the connection hook by which it
// distinguishes users of this machine. Until Run has read the bus, pages say that they are
// incomplete.
func (c *Console) server() *http.Server {
	return &http.Server{
		Handler: c.handler, ConnContext: c.withConnection,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(c.opts.Logger.Handler(), slog.LevelDebug),
	}
}

// SetToken replaces the token while the console runs. A new one ends all sessions; "" lets no
// client act.
func (c *Console) SetToken(token string) { c.sessions.setToken(token) }

// Run follows the bus until ctx ends. It retries a bus that is away; meanwhile the pages show the
// last known state, and say so.
func (c *Console) Run(ctx context.Context) error {
	defer c.stop()
	return c.follow(ctx)
}

// Time limits of clients. Pages that follow have deadlines of their own.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 30 * time.Second
	writeTimeout  = 60 * time.Second
	idleTimeout   = 2 * time.Minute
	endTimeout    = 5 * time.Second
	maxHeader     = 64 << 10
)

// Serve runs the console on a listener until ctx ends.
func (c *Console) Serve(ctx context.Context, listener net.Listener) error {
	server := c.server()
	serving, ctx := errgroup.WithContext(ctx)
	serving.Go(func() error { return c.Run(ctx) })
	serving.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	serving.Go(func() error {
		<-ctx.Done()
		c.stop()
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
		defer cancel()
		return errors.Join(server.Shutdown(ending), server.Close())
	})
	return serving.Wait()
}
