package simrack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Control lets another process look at a rack and play its hands: HTTP with JSON,
// on loopback.
//
//	GET  /machines            []Info
//	GET  /acts                machine → act → count
//	GET  /batch?name=NAME     a batch file
//	GET  /credentials         environment variables of the batch file
//	POST /machines/NAME/fault {"fault": "gpu-x8"}
//	POST /machines/NAME/repair
//	POST /machines/NAME/board exchanged for a healthy one
//
// It returns where it listens and how to stop it.
func (r *Rack) Control(ctx context.Context, addr string) (url string, stop func() error, err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return "", nil, fmt.Errorf("simulated rack: control: %w", err)
	}
	host, _, _ := net.SplitHostPort(l.Addr().String())
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return "", nil, errors.Join(fmt.Errorf("simulated rack: control listens on loopback only, not on %s", host), l.Close())
	}
	server := &http.Server{Handler: r.handler(), ReadHeaderTimeout: 10 * time.Second}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	stop = func() error {
		err := server.Close()
		if served := <-done; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		return err
	}
	return "http://" + l.Addr().String(), stop, nil
}

func (r *Rack) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /machines", func(w http.ResponseWriter, _ *http.Request) { answer(w, r.Machines()) })
	mux.HandleFunc("GET /acts", func(w http.ResponseWriter, _ *http.Request) { answer(w, r.Acts()) })
	mux.HandleFunc("GET /credentials", func(w http.ResponseWriter, _ *http.Request) { answer(w, r.Credentials()) })
	mux.HandleFunc("GET /batch", func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/yaml")
		_, _ = w.Write(r.BatchYAML(req.URL.Query().Get("name")))
	})
	mux.HandleFunc("POST /machines/{name}/fault", func(w http.ResponseWriter, req *http.Request) {
		var want struct {
			Fault string `json:"fault"`
		}
		if err := json.NewDecoder(http.MaxBytesReader(w, req.Body, 4096)).Decode(&want); err != nil {
			http.Error(w, `want {"fault": "NAME"}`, http.StatusBadRequest)
			return
		}
		changed(w, r.SetFault(req.PathValue("name"), want.Fault))
	})
	mux.HandleFunc("POST /machines/{name}/board", func(w http.ResponseWriter, req *http.Request) {
		changed(w, r.SwapBoard(req.PathValue("name")))
	})
	mux.HandleFunc("POST /machines/{name}/repair", func(w http.ResponseWriter, req *http.Request) {
		changed(w, r.Repair(req.PathValue("name")))
	})
	return mux
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func changed(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
