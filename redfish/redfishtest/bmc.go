package redfishtest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// BMC is a running simulated management controller. All methods are safe for
// concurrent use.
type BMC struct {
	opts     Options
	log      *slog.Logger
	vendor   vendor
	listener net.Listener
	server   *http.Server

	ctx    context.Context // ends at Close
	cancel context.CancelFunc
	wg     sync.WaitGroup

	hookMu sync.Mutex // held while a hook runs; never together with mu

	mu          sync.Mutex // guards all below
	closed      bool
	lastHook    chan struct{} // closed when the newest hook beside the power acts is done
	store       *store
	systems     []*system
	slots       []*slot // of virtual media
	logs        []*logService
	events      *events
	updates     *updates
	diagnostics *diagnostics
	away        bool // restarting: nothing answers
	overlays    map[string]func(object map[string]any)
	systemsURI  string
	routes      map[string]route
	sessions    *sessions
	tasks       *tasks
	faults      faults
	ledger      ledger
	password    string
	movedFrom   string // host address before a move
	cert        *tls.Certificate
	certHash    string
	rules       passwordRules
}

// Start serves opts.Tree until ctx ends or [BMC.Close] is called.
func Start(ctx context.Context, opts Options) (*BMC, error) {
	opts = opts.withDefaults()
	b := &BMC{opts: opts, log: opts.Log, password: opts.Password, faults: faults{}}
	b.store = newStore(opts.Tree)
	if err := b.discover(); err != nil {
		return nil, err
	}
	for _, spec := range opts.Faults {
		if err := b.SetFault(spec, true); err != nil {
			return nil, err
		}
	}
	cert, err := opts.certificate()
	if err != nil {
		return nil, err
	}
	b.show(cert)
	b.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", opts.Listen)
	if err != nil {
		return nil, fmt.Errorf("simulated BMC: %w", err)
	}
	b.ctx, b.cancel = context.WithCancel(ctx)
	b.serve()
	return b, nil
}

func (b *BMC) serve() {
	b.server = &http.Server{
		Handler:           http.HandlerFunc(b.serveHTTP),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(b.log.Handler(), slog.LevelDebug),
		// BMCs speak HTTP/1.1, and the connection faults need a connection per request.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
	}
	b.server.TLSConfig = &tls.Config{GetCertificate: b.shown, MinVersion: tls.VersionTLS12}
	listener := tls.NewListener(b.listener, b.server.TLSConfig)
	b.wg.Go(func() {
		err := b.server.Serve(listener)
		if !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) { // it may have moved
			b.log.Error("simulated BMC stopped serving", "addr", b.Addr(), "error", err)
		}
	})
	context.AfterFunc(b.ctx, func() { _ = b.server.Close() })
}

// Close ends every connection, transition and hook, and waits for them.
func (b *BMC) Close() error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.cancel()
	err := b.server.Close()
	b.wg.Wait()
	return err
}

// Addr is the host:port that the BMC listens on.
func (b *BMC) Addr() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.listener.Addr().String()
}

// URL is the https URL of the BMC, without a path.
func (b *BMC) URL() string { return "https://" + b.Addr() }

// CertSHA256 is the SHA-256 of the served certificate (DER), in lower-case hex:
// what a client pins.
func (b *BMC) CertSHA256() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.certHash
}

func (o Options) withDefaults() Options {
	if o.User == "" {
		o.User = "admin"
	}
	if o.Password == "" {
		o.Password = "password"
	}
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.SessionLimit == 0 {
		o.SessionLimit = 16
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// spawn runs f beside the requests until Close, which waits for it. The lock
// is held: it orders spawn against Close.
func (b *BMC) spawn(f func()) {
	if !b.closed {
		b.wg.Go(f)
	}
}

// call runs one hook at a time.
func (b *BMC) call(hook func()) {
	b.hookMu.Lock()
	defer b.hookMu.Unlock()
	hook()
}

// aside runs a hook that belongs to no power act, in the order of the calls.
func (b *BMC) aside(hook func()) {
	before, done := b.lastHook, make(chan struct{})
	b.lastHook = done
	b.spawn(func() {
		defer close(done)
		if before != nil {
			<-before
		}
		b.call(hook)
	})
}
