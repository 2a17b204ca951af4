package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"couponlease/internal/config"
	"couponlease/internal/console"
	"couponlease/internal/coupon"
	"couponlease/internal/store"
	"couponlease/internal/testkit"
)

// services are real ones, for the demo to make a place on.
func services(t testing.TB) config.Services {
	t.Helper()
	broker := testkit.RabbitMQ(t)
	return config.Services{
		PostgresURL: testkit.Postgres(t), AMQPURL: broker.URL, AMQPManagementURL: broker.ManagementURL,
	}
}

// program builds the daemon as the demo does.
func program(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "coupond")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", path, "couponlease/cmd/coupond").CombinedOutput(); err != nil {
		t.Fatalf("build coupond: %v\n%s", err, out)
	}
	return path
}

func options(coupond string, out *bytes.Buffer) Options {
	return Options{Orders: 100, Coupond: coupond, Out: out, Logger: slog.New(slog.DiscardHandler)}
}

// placeOf finds the name of the demo's place in what it said.
func placeOf(t testing.TB, said string) string {
	t.Helper()
	_, rest, found := strings.Cut(said, "of its own: ")
	name, _, _ := strings.Cut(rest, "\n")
	if !found || name == "" {
		t.Fatalf("the demo names no place:\n%s", said)
	}
	return name
}

// wantGone fails the test if the demo's schema or virtual host is still there.
func wantGone(t testing.TB, s config.Services, name string) {
	t.Helper()
	if err := store.CreateSchema(t.Context(), s.PostgresURL, name); err != nil {
		t.Errorf("the schema is still there: %v", err)
	}
	if err := store.DropSchema(t.Context(), s.PostgresURL, name); err != nil {
		t.Error(err)
	}
	request, err := http.NewRequest(http.MethodGet, s.AMQPManagementURL+"/api/vhosts/"+name, nil)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusNotFound {
		t.Errorf("the virtual host is still there: %s", reply.Status)
	}
}

func TestDemoEndsWellAndLeavesNothing(t *testing.T) {
	s := services(t)
	var said bytes.Buffer
	report, err := Run(t.Context(), s, options(program(t), &said))
	if err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	if err := report.Err(); err != nil {
		t.Error(err)
	}
	if report.Check.Found > 0 || report.Check.Coupons != int64(report.Coupons) {
		t.Errorf("check: %+v", report.Check)
	}
	if report.LeasesExpired == 0 || report.Events["coupon.conflict_detected.v1"] != 1 {
		t.Errorf("%d leases ran out, events %v", report.LeasesExpired, report.Events)
	}
	if err := report.WriteText(&said); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"order_demo_B", "LATE_PAYMENT_COUPON_TAKEN", "every invariant holds", "All is well", "DUPLICATE_PAYMENT",
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, &said)
		}
	}
	if _, err := json.Marshal(report); err != nil {
		t.Error(err)
	}
	wantGone(t, s, report.Place)
}

func TestADaemonThatEndsIsToldWithItsLog(t *testing.T) {
	s := services(t)
	broken := filepath.Join(t.TempDir(), "coupond")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\necho no way >&2\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	_, err := Run(t.Context(), s, options(broken, &said))
	if err == nil || !strings.Contains(err.Error(), "no way") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("got %v, want the daemon's end and its log", err)
	}
	wantGone(t, s, placeOf(t, said.String()))
}

func TestAnInterruptedDemoLeavesNothing(t *testing.T) {
	s := services(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var said bytes.Buffer
	o := options(program(t), nil)
	o.Out = writerFunc(func(text []byte) (int, error) {
		if strings.Contains(string(text), "order B is placed") {
			interrupt()
		}
		return said.Write(text)
	})
	if _, err := Run(ctx, s, o); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the interruption", err)
	}
	wantGone(t, s, placeOf(t, said.String()))
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(text []byte) (int, error) { return f(text) }

func TestWhatIsKeptCanBeRemoved(t *testing.T) {
	s := services(t)
	p, err := newPlace(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := Remove(t.Context(), s, p.name); err != nil {
		t.Fatal(err)
	}
	wantGone(t, s, p.name)
	if err := Remove(t.Context(), s, p.name); err != nil {
		t.Errorf("removing what is gone: %v", err)
	}
	for _, name := range []string{"public", "demo_", "demo_xyz", "demo_12345678; drop", ""} {
		if err := Remove(t.Context(), s, name); !errors.Is(err, console.ErrUsage) {
			t.Errorf("remove %q: %v", name, err)
		}
	}
}

// Whatever comes out otherwise than planned is a problem.
func TestJudgeTotals(t *testing.T) {
	day := &traffic{expiring: 5, reviews: 2}
	good := func() *Report {
		return &Report{
			LeasesExpired: 5,
			Activity:      console.Activity{Reviews: map[coupon.ReviewReason]int{"A": 1, "B": 2}},
			Incident: console.Timeline{
				Coupon:  console.CouponView{Redemptions: 1, Redemption: &console.RedemptionView{Order: orderB}},
				Reviews: []console.ReviewView{{Order: orderA, Reason: coupon.ReviewLatePaymentTaken}},
			},
		}
	}
	tests := map[string]func(*Report){
		"":                        func(*Report) {},
		"leases ran out":          func(r *Report) { r.LeasesExpired-- },
		"violations of invariant": func(r *Report) { r.Check.Found, r.Check.Violations = 1, []coupon.Violation{{}} },
		"reviews instead of":      func(r *Report) { r.Activity.Reviews["A"] = 7 },
		"not used once":           func(r *Report) { r.Incident.Coupon.Redemption.Order = orderA },
		"used once, by order B":   func(r *Report) { r.Incident.Coupon.Redemptions = 2 },
		"nobody was asked":        func(r *Report) { r.Incident.Reviews = nil },
	}
	for says, change := range tests {
		r := good()
		change(r)
		r.judgeTotals(day)
		err := r.Err()
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%q: got %v", says, err)
		}
	}
}

func TestEventuallyTellsWhatWasMissing(t *testing.T) {
	err := eventually(t.Context(), time.Millisecond, func(context.Context) (string, error) { return "3 of 4", nil })
	if err == nil || !strings.Contains(err.Error(), "3 of 4") {
		t.Errorf("got %v", err)
	}
	broken := errors.New("broken")
	err = eventually(t.Context(), time.Minute, func(context.Context) (string, error) { return "", broken })
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want the error at once", err)
	}
	var looks int
	err = eventually(t.Context(), time.Minute, func(context.Context) (string, error) {
		if looks++; looks < 3 {
			return "not yet", nil
		}
		return "", nil
	})
	if err != nil || looks != 3 {
		t.Errorf("%d looks, %v", looks, err)
	}
}
