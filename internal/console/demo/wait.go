package demo

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// pollInterval is how often a condition is looked at.
const pollInterval = 100 * time.Millisecond

// eventually waits until missing has nothing to say any more. It looks at once and
// then again and again; an error, or the time limit, ends the wait.
func eventually(ctx context.Context, limit time.Duration, missing func(context.Context) (string, error)) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var last string
	for {
		detail, err := missing(limited)
		switch {
		case err == nil && detail == "":
			return nil
		case err != nil && limited.Err() == nil:
			return err
		case err == nil:
			last = detail
		}
		select {
		case <-ticker.C:
		case <-limited.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return errors.New(fmt.Sprintf("after %s: ", limit) + last)
		}
	}
}
