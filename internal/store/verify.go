package store

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"couponlease/internal/coupon"
)

var (
	//go:embed sql/verify_coupons.sql
	verifyCouponsSQL string
	//go:embed sql/verify_export.sql
	verifyExportSQL string
	//go:embed sql/verify_ledger.sql
	verifyLedgerSQL string
	//go:embed sql/verify_sample.sql
	verifySampleSQL string
	//go:embed sql/verify_size.sql
	verifySizeSQL string
)

// LedgerKind says how the ledger and the row of a coupon disagree.
type LedgerKind string

const (
	// LedgerDiffers: the ledger folds, but gives another row, so one of the two was
	// changed, or the ledger lost its end.
	LedgerDiffers LedgerKind = "DIFFERS"
	// LedgerGap: an operation is missing.
	LedgerGap LedgerKind = "GAP"
	// LedgerFork: a version is there twice.
	LedgerFork LedgerKind = "FORK"
	// LedgerImpossible: an operation that could not follow from those before.
	LedgerImpossible LedgerKind = "IMPOSSIBLE"
	// LedgerNone: a coupon without a ledger; LedgerNoRow: a ledger without a coupon.
	LedgerNone  LedgerKind = "NO_LEDGER"
	LedgerNoRow LedgerKind = "NO_ROW"
)

// LedgerFinding is one coupon whose ledger and row disagree.
type LedgerFinding struct {
	Kind   LedgerKind
	Coupon string
	// Violations say what is broken, in the words of the core.
	Violations []coupon.Violation
}

// LedgerVerdict is what the ledger says about the rows, as of one moment.
type LedgerVerdict struct {
	Coupons, Operations int64
	// Found counts the coupons with findings, of which Findings has the first by id.
	Found    int64
	ByKind   map[LedgerKind]int64
	Findings []LedgerFinding
}

// VerifyOptions shape a verification.
type VerifyOptions struct {
	// Coupon restricts it to the coupon with this id; "" is all.
	Coupon string
	// Parallel is how many connections read at once, at most MaxConns of the store; 0
	// is 2.
	Parallel int
	// Range is about how many coupons one statement reads; 0 is 50,000.
	Range int
	// Limit bounds how many findings are kept.
	Limit int
	// Progress is told how many of about total coupons are done, from any goroutine,
	// never from two at once; nil tells nobody.
	Progress func(done, total int64)
}

const (
	// rangeCoupons is the default of Range: enough that the rows of a range are sorted
	// rather than looked up one by one, and few enough to hold.
	rangeCoupons = 50_000
	// samplePages is about how many pages of coupons are sampled to find the ranges.
	samplePages = 1000
	// pageBytes is the size of PostgreSQL's pages.
	pageBytes = 8192
	// leisure is how long a statement may take that reads much of a table.
	leisure = 10 * time.Minute
)

// VerifyLedger folds the ledger of every coupon and compares it with the row, by the
// same functions as coupon.Check. All connections see the same moment, so that traffic
// makes no findings. Memory holds a range of coupons for each connection.
func (s *Store) VerifyLedger(ctx context.Context, o VerifyOptions) (LedgerVerdict, error) {
	v := &verification{store: s, options: o, verdict: LedgerVerdict{ByKind: map[LedgerKind]int64{}}}
	v.options.Parallel = min(cmp.Or(o.Parallel, 2), s.options.MaxConns)
	if err := s.inSnapshot(ctx, v.run); err != nil {
		return LedgerVerdict{}, fmt.Errorf("verify the ledger: %w", err)
	}
	verdict := v.verdict
	slices.SortFunc(verdict.Findings, func(a, b LedgerFinding) int { return strings.Compare(a.Coupon, b.Coupon) })
	verdict.Findings = verdict.Findings[:min(len(verdict.Findings), max(o.Limit, 0))]
	return verdict, nil
}

// couponRange is from an id up to another one; until "" is the end.
type couponRange struct{ from, until string }

type verification struct {
	store   *Store
	options VerifyOptions

	mu      sync.Mutex // guards what follows
	verdict LedgerVerdict
	total   int64
}

// run divides the coupons among the connections.
func (v *verification) run(ctx context.Context, first *snapshot) error {
	if err := first.atLeisure(ctx); err != nil {
		return err
	}
	ranges, err := v.ranges(ctx, first)
	if err != nil {
		return err
	}
	work := make(chan couponRange, len(ranges))
	for _, r := range ranges {
		work <- r
	}
	close(work)
	var moment string
	t := &trip{}
	t.query("export the snapshot", verifyExportSQL, func(rows pgx.Rows) error { return rows.Scan(&moment) })
	if err := first.send(ctx, t); err != nil {
		return err
	}
	return v.share(ctx, first, moment, work)
}

// share lets all connections work, and ends with the first error of any.
func (v *verification) share(ctx context.Context, first *snapshot, moment string, work chan couponRange) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var workers sync.WaitGroup
	for range min(v.options.Parallel, len(work)) - 1 {
		workers.Go(func() {
			err := v.store.inSnapshotOf(ctx, moment, func(ctx context.Context, other *snapshot) error {
				if err := other.atLeisure(ctx); err != nil {
					return err
				}
				return v.work(ctx, other, work)
			})
			if err != nil {
				stop(err)
			}
		})
	}
	if err := v.work(ctx, first, work); err != nil {
		stop(err)
	}
	workers.Wait()
	return context.Cause(ctx)
}

// ranges divides the ids into ranges of about the same size, by a sample.
func (v *verification) ranges(ctx context.Context, first *snapshot) ([]couponRange, error) {
	if id := v.options.Coupon; id != "" {
		v.total = 1
		return []couponRange{{id, id + "\x01"}}, nil
	}
	var size int64
	t := &trip{}
	t.query("ask for the size", verifySizeSQL, func(rows pgx.Rows) error { return rows.Scan(&size) })
	if err := first.send(ctx, t); err != nil {
		return nil, err
	}
	percent := min(100, 100*float64(samplePages)/max(1, float64(size/pageBytes)))
	var sample []string
	t = &trip{}
	t.query("sample the coupons", verifySampleSQL, list(&sample, scanText), percent)
	if err := first.send(ctx, t); err != nil {
		return nil, err
	}
	v.total = int64(float64(len(sample)) * 100 / percent)
	ranges := []couponRange{{}}
	step := max(1, int(float64(cmp.Or(v.options.Range, rangeCoupons))*percent/100))
	for i := step; i < len(sample); i += step {
		ranges[len(ranges)-1].until = sample[i]
		ranges = append(ranges, couponRange{from: sample[i]})
	}
	return ranges, nil
}

// work takes one range after the other.
func (v *verification) work(ctx context.Context, s *snapshot, work <-chan couponRange) error {
	var found []LedgerFinding
	m := &merge{found: func(kind LedgerKind, id string) { found = append(found, LedgerFinding{Kind: kind, Coupon: id}) }}
	for r := range work {
		t := &trip{}
		t.query("read coupons", verifyCouponsSQL, m.row, r.from, r.until)
		t.query("read the ledger", verifyLedgerSQL, m.ledger, r.from, r.until)
		if err := t.sendWithin(ctx, leisure+patience, s.conn); err != nil {
			return err
		}
		coupons, operations := m.end()
		if err := v.explain(ctx, s, found); err != nil {
			return err
		}
		v.add(coupons, operations, found)
		found = found[:0]
	}
	return nil
}

// add joins what a range has given to what is known.
func (v *verification) add(coupons, operations int64, found []LedgerFinding) {
	v.mu.Lock()
	defer v.mu.Unlock()
	d := &v.verdict
	d.Coupons += coupons
	d.Operations += operations
	d.Found += int64(len(found))
	for i := range found {
		d.ByKind[found[i].Kind]++
	}
	// Each range keeps as many as are wanted in the end, which are the first by id.
	d.Findings = append(d.Findings, found[:min(len(found), v.options.Limit)]...)
	if v.options.Progress != nil {
		v.options.Progress(d.Coupons, max(d.Coupons, v.total))
	}
}

// explain reads the coupons that are kept again, whole, and lets the core say what is
// wrong.
func (v *verification) explain(ctx context.Context, s *snapshot, found []LedgerFinding) error {
	for i := range found[:min(len(found), v.options.Limit)] {
		f := &found[i]
		h, exists, err := s.history(ctx, f.Coupon)
		if err != nil {
			return err
		}
		switch {
		case !exists:
			f.Violations = []coupon.Violation{{Invariant: 7, Coupon: f.Coupon, Detail: "the ledger has operations of it, " +
				"but there is no such coupon"}}
		case len(h.Operations) == 0:
			f.Violations = []coupon.Violation{{Invariant: 5, Coupon: f.Coupon, Detail: fmt.Sprintf(
				"the row says %s at version %d, but the ledger has nothing of it", h.Coupon.State, h.Coupon.Version)}}
		default:
			folded, err := coupon.Replay(h.Operations)
			f.Violations = coupon.CheckReplay(h.Coupon, folded, err)
		}
	}
	return nil
}

// moments are names that PostgreSQL gives to exported snapshots.
var moments = regexp.MustCompile(`^[0-9A-F-]+$`)

// joinSnapshot is the statement that joins an exported snapshot; it takes no parameters.
func joinSnapshot(moment string) (string, error) {
	if !moments.MatchString(moment) {
		return "", fmt.Errorf("join the snapshot %q: it is no snapshot", moment)
	}
	return "set transaction snapshot '" + moment + "'", nil
}
