package claims_test

import (
	"testing"
	"time"

	"couponlease/internal/coupon"
)

// A person gets one a day of the campaign's zone, whatever the clocks do in it.
func TestDaysAreThoseOfTheZone(t *testing.T) {
	for _, test := range []struct {
		zone string
		// at are local times and whether a claim then is granted.
		at []struct {
			local string
			want  coupon.Code
		}
	}{
		{"Asia/Shanghai", days(
			"2026-03-01T23:59:59+08:00", coupon.OK, "2026-03-01T23:59:59.9+08:00", coupon.DailyLimitReached,
			"2026-03-02T00:00:00+08:00", coupon.OK, "2026-03-02T07:59:59+08:00", coupon.DailyLimitReached,
			"2026-03-02T08:00:00+08:00", coupon.DailyLimitReached, // midnight in UTC
			"2026-03-03T00:00:00+08:00", coupon.OK,
		)},
		{"", days(
			"2026-03-01T23:59:59Z", coupon.OK, "2026-03-02T00:00:00Z", coupon.OK,
			"2026-03-02T23:59:59Z", coupon.DailyLimitReached, "2026-03-03T00:00:00Z", coupon.OK,
		)},
		// The 29th of March has 23 hours, the 25th of October 25.
		{"Europe/Berlin", days(
			"2026-03-28T23:59:59+01:00", coupon.OK, "2026-03-29T00:00:00+01:00", coupon.OK,
			"2026-03-29T01:59:59+01:00", coupon.DailyLimitReached, "2026-03-29T03:00:00+02:00", coupon.DailyLimitReached,
			"2026-03-29T23:59:59+02:00", coupon.DailyLimitReached, "2026-03-30T00:00:00+02:00", coupon.OK,
		)},
		{"Europe/Berlin", days(
			"2026-10-24T23:59:59+02:00", coupon.OK, "2026-10-25T00:00:00+02:00", coupon.OK,
			"2026-10-25T02:30:00+02:00", coupon.DailyLimitReached, "2026-10-25T02:30:00+01:00", coupon.DailyLimitReached,
			"2026-10-25T23:59:59+01:00", coupon.DailyLimitReached, "2026-10-26T00:00:00+01:00", coupon.OK,
		)},
	} {
		for name, prepare := range map[string]func(*world){
			"through the pool": func(*world) {},
			"by the books":     func(w *world) { w.pool.away = true },
			"with a pool that forgets": func(w *world) {
				w.before = func(coupon.Request) { w.pool.forget() }
			},
		} {
			t.Run(test.zone+" "+name, func(t *testing.T) {
				w := newWorld(t, func(terms *coupon.Terms) { terms.PerDay, terms.Zone = 1, test.zone })
				prepare(w)
				for _, claim := range test.at {
					at, err := time.Parse(time.RFC3339Nano, claim.local)
					if err != nil {
						t.Fatal(err)
					}
					w.set(at)
					w.gets(claim.want, "ann", claim.local)
					w.gets(claim.want, "Bob", claim.local+" of bob")
				}
			})
		}
	}
}

func days(pairs ...any) (list []struct {
	local string
	want  coupon.Code
}) {
	for i := 0; i < len(pairs); i += 2 {
		local, _ := pairs[i].(string)
		want, _ := pairs[i+1].(coupon.Code)
		list = append(list, struct {
			local string
			want  coupon.Code
		}{local, want})
	}
	return list
}

// A clock that is set back opens no day again, and who is refused for the day costs the
// engine nothing.
func TestClockThatIsSetBack(t *testing.T) {
	w := newWorld(t, func(terms *coupon.Terms) { terms.PerDay, terms.Zone = 1, "Asia/Shanghai" })
	midnight := time.Date(2026, 3, 1, 16, 0, 0, 0, time.UTC)
	w.set(midnight)
	w.gets(coupon.OK, "ann", "k1")
	w.counted("engine")
	w.gets(coupon.DailyLimitReached, "ann", "k2")
	if n := w.counted("engine"); n != 0 {
		t.Errorf("the engine was asked %d times", n)
	}
	w.set(midnight.Add(-time.Second))
	w.gets(coupon.DailyLimitReached, "ann", "k3") // the books say so, and the pool learns it
	w.counted("engine")
	w.gets(coupon.DailyLimitReached, "ann", "k4")
	if n := w.counted("engine"); n != 0 {
		t.Errorf("the engine was asked %d times", n)
	}
}

// Days of a zone that is edited count in the new one.
func TestZoneThatIsEdited(t *testing.T) {
	w := newWorld(t, func(terms *coupon.Terms) { terms.PerDay = 1 })
	w.set(time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC))
	w.gets(coupon.OK, "ann", "k1")
	edit := coupon.EditTemplate{Template: campaign, Set: coupon.TermsEdit{Zone: ptr("Asia/Shanghai")}}
	if outcome, err := submit(w.desk, coupon.Request{Key: "e", At: w.clock(), Fact: edit}); err != nil || outcome.Code != coupon.OK {
		t.Fatal(outcome, err)
	}
	w.gets(coupon.DailyLimitReached, "ann", "k2")
	w.pass(time.Hour) // it is midnight there
	w.gets(coupon.OK, "ann", "k3")
}
