package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"testing"

	"couponlease/internal/coupon"
)

// generate writes a file of so many coupons while it is being read.
func generate(t testing.TB, rows int) io.Reader {
	t.Helper()
	return written(rows, "code,owner,valid_until,batch", func(i int) string {
		return fmt.Sprintf("GENERATED-%07d,u%d,2030-12-31,b1", i, i)
	})
}

// generatePeople does the same for a list of people.
func generatePeople(t testing.TB, rows int) io.Reader {
	t.Helper()
	return written(rows, "customer", func(i int) string { return fmt.Sprintf("u%d@example.com", i) })
}

// written writes a file while it is being read.
func written(rows int, header string, row func(i int) string) io.Reader {
	read, write := io.Pipe()
	go func() {
		out := bufio.NewWriter(write)
		fmt.Fprintln(out, header)
		for i := range rows {
			fmt.Fprintln(out, row(i))
		}
		_ = write.CloseWithError(out.Flush())
	}()
	return read
}

func (w *world) importFile(ctx context.Context, source io.Reader, options ImportOptions) (ImportReport, error) {
	options.Template, options.Actor, options.KeepBad = "bulk", "test", 10
	options.Define = &coupon.Template{Terms: coupon.Terms{Budget: coupon.NoLimit, UsesPerPerson: coupon.NoLimit}}
	return w.ImportCoupons(ctx, source, 4, options)
}

// A hundred thousand rows are imported in the memory of a few batches, and again
// without a change.
func TestImportOfALargeFileInBoundedMemory(t *testing.T) {
	const rows, most = 100_000, 64 << 20
	w := newWorld(t)
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var peak uint64
	progress := func(int) {
		runtime.ReadMemStats(&now)
		peak = max(peak, now.HeapAlloc)
	}
	first, err := w.importFile(t.Context(), generate(t, rows), ImportOptions{Progress: progress})
	if err != nil {
		t.Fatal(err)
	}
	if first.Created != rows || first.Rows != rows {
		t.Errorf("%d of %d rows created, want %d", first.Created, first.Rows, rows)
	}
	if grown := peak - min(peak, before.HeapAlloc); grown > most {
		t.Errorf("the import took up to %d MiB, want at most %d", grown>>20, most>>20)
	}
	again, err := w.importFile(t.Context(), generate(t, rows), ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if again.Created != 0 || again.SkippedInDatabase != rows {
		t.Errorf("the second time: %+v", again)
	}
	report := w.check(5)
	if report.Found != 0 || report.Coupons != rows {
		t.Errorf("checked %d coupons: %v", report.Coupons, report.Violations)
	}
}

func TestAnInterruptedImportSaysHowFarItCameAndGoesOn(t *testing.T) {
	const rows = 5 * importChunk
	w := newWorld(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	stopAfterOne := ImportOptions{Progress: func(int) { interrupt() }}
	report, err := w.importFile(ctx, generate(t, rows), stopAfterOne)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want the interruption", err)
	}
	if report.Created == 0 || report.Created >= rows {
		t.Errorf("%d of %d rows created before the interruption", report.Created, rows)
	}
	rest, err := w.importFile(t.Context(), generate(t, rows), ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if rest.Created+rest.SkippedInDatabase != rows || rest.SkippedInDatabase < report.Created {
		t.Errorf("after %d rows, the rest: %+v", report.Created, rest)
	}
}

// What is imported is announced like everything else.
func TestImportAnnouncesItsCoupons(t *testing.T) {
	w := newWorld(t)
	if _, err := w.importFile(t.Context(), generate(t, 300), ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	activity, err := w.Activity(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if activity.OutboxMessages != 300 || activity.Coupons[coupon.Available] != 300 {
		t.Errorf("%d events to publish for %d coupons", activity.OutboxMessages, activity.Coupons[coupon.Available])
	}
}
