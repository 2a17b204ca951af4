package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// untilSignal gives a context that ends with the first signal to stop. The second
// one calls exit at once: what was in flight comes again.
func untilSignal(parent context.Context, exit func(code int)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
			return
		}
		if second, ok := (<-signals).(syscall.Signal); ok {
			exit(exitSignal + int(second))
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel()
	}
}
