package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Limits of the HTTP server. Its callers are probes and a scraper.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = time.Minute
	headerBytes   = 16 << 10
	httpClosing   = 5 * time.Second
)

// server serves HTTP until it is closed.
type server struct {
	http   *http.Server
	failed chan error // gets the error when serving ends by itself
}

func (d *Daemon) serve() *server {
	s := &server{
		http: &http.Server{
			Handler:           d.routes(),
			ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout,
			WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: headerBytes,
		},
		failed: make(chan error, 1),
	}
	go func() {
		if err := s.http.Serve(d.listener); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- err
		}
	}()
	return s
}

// close answers requests that have begun and stops.
func (s *server) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), httpClosing)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		return fmt.Errorf("close HTTP server: %w", errors.Join(err, s.http.Close()))
	}
	return nil
}

func (d *Daemon) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintln(w, "alive")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		readiness := d.health.readiness()
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		if !readiness.Ready {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		// The caller has gone if this fails.
		_ = encoder.Encode(readiness)
	})
	mux.Handle("GET /metrics", d.metrics.Handler())
	return mux
}
