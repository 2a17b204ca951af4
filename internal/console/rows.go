package console

import (
	"context"
	"errors"
	"io"
)

// rowsRun goes through the rows of a file of coupons.
type rowsRun interface {
	// row counts a row, bad notes what is wrong with one.
	row()
	bad(line int, reason string)
	// flush asks the engine for the rows that wait, interrupted tells how far it came.
	flush(ctx context.Context) error
	interrupted(cause error) error
}

// eachRow has each row taken. One that cannot be read is noted and passed over; a file that
// cannot be is wrong usage, once what was read of it has been dealt with.
func eachRow[Row any](
	ctx context.Context, run rowsRun, read func() (Row, int, error), take func(Row, int) error,
) error {
	for {
		if err := ctx.Err(); err != nil {
			return run.interrupted(err)
		}
		row, line, err := read()
		var bad *rowError
		switch {
		case errors.Is(err, io.EOF):
			return run.flush(ctx)
		case errors.As(err, &bad):
			run.row()
			run.bad(line, bad.reason)
			continue
		case err != nil:
			return errors.Join(run.flush(ctx), Usage(err))
		}
		run.row()
		if err := take(row, line); err != nil {
			return err
		}
	}
}
