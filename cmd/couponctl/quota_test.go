package main

import (
	"os"
	"testing"

	"couponlease/internal/claims"
	"couponlease/internal/console"
	"couponlease/internal/coupon"
	"couponlease/internal/quota"
)

// spoilt is a campaign of 100 coupons, and the pool that claims ask first.
func spoilt(t *testing.T) (shop, *quota.Pool) {
	t.Helper()
	s := newShop(t)
	url, prefix := onRedis(t)
	client, err := quota.Open(url, quota.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	template(t, exitOK, "create", "spring", "--total", "100", "--per-person", "2")
	return s, quota.NewPool(client, quota.PoolOptions{Prefix: quota.ClaimPrefix(prefix)})
}

// stock loads something wrong.
func stock(t *testing.T, pool *quota.Pool, generation, left int64) {
	t.Helper()
	err := pool.Load(t.Context(), claims.Stock{
		Template: "spring", Generation: generation, Left: left, PerPerson: 2, PerDay: coupon.NoLimit,
	})
	if err != nil {
		t.Fatal(err)
	}
}

func quotas(t *testing.T, args ...string) []console.QuotaLine {
	t.Helper()
	o := ctl(t, append([]string{"quota", "show", "-o", "json"}, args...)...)
	o.want(t, exitOK)
	return decode[console.QuotaReport](t, o).Campaigns
}

func TestStocksAreShownComparedAndRebuilt(t *testing.T) {
	_, pool := spoilt(t)
	template(t, exitOK, "create", "endless")
	ctl(t, "quota", "show").want(t, exitOK, "spring", "NOT_LOADED", "loaded when somebody claims")
	ctl(t, "quota", "drift").want(t, exitOK, "no stock in Redis is wrong")
	stock(t, pool, 1, 250)
	if of := quotas(t, "spring"); len(of) != 1 || of[0].State != console.QuotaHigher || *of[0].Redis.Left != 250 || *of[0].Left != 100 {
		t.Errorf("shown %+v", of)
	}
	o := ctl(t, "quota", "drift", "-o", "json")
	o.want(t, exitFindings)
	if found := decode[console.QuotaDriftReport](t, o).Drifts; len(found) != 1 || found[0].Template != "spring" || found[0].PoolLeft != 250 {
		t.Errorf("found %+v", found)
	}
	ctl(t, "quota", "drift").want(t, exitFindings, "the pool has 250 left, the books 100", "1 wrong stock")

	ctl(t, "quota", "rebuild", "spring", "--reason", "ticket 4730", "--actor", "ann@desk").want(t, exitOK, "250", "100", "1 stock loaded")
	if of := quotas(t); len(of) != 1 || of[0].State != console.QuotaEqual || of[0].Generation != 2 || *of[0].Redis.Left != 100 {
		t.Errorf("afterwards %+v", of)
	}
	ctl(t, "audit", "list").want(t, exitOK, "RebuildQuota", "spring", "STARTED", "DONE", "ticket 4730", "ann@desk")
	again := ctl(t, "quota", "rebuild", "--all", "-o", "json")
	again.want(t, exitOK)
	done := decode[console.QuotaRebuildReport](t, again).Rebuilt
	if len(done) != 1 || *done[0].Before.Left != 100 || *done[0].After.Left != 100 {
		t.Errorf("rebuilt %+v", done)
	}
	ctl(t, "quota", "drift").want(t, exitOK)
}

// A stock that is too low is one only after as long as a claim may be under way.
func TestAStockThatLostCouponsIsFoundWithPatience(t *testing.T) {
	_, pool := spoilt(t)
	stock(t, pool, 1, 40)
	ctl(t, "quota", "show", "spring").want(t, exitOK, "LOWER", "claims are under way, or coupons were lost")
	ctl(t, "reconcile", "run", "--repair", "--reason", "drill").want(t, exitFindings, "P2 QUOTA_DRIFT spring",
		"the pool has 40 left, the books 100", "1 finding changed by repairs")
	ctl(t, "audit", "list").want(t, exitOK, "RestockQuota", "drill")
	url := os.Getenv("COUPONLEASE_REDIS_URL")
	t.Setenv("COUPONLEASE_REDIS_URL", "") // who cannot look closes nothing
	ctl(t, "reconcile", "run").want(t, exitOK, "0 findings gone")
	ctl(t, "gate").want(t, exitFindings, "drift", "1 red")
	t.Setenv("COUPONLEASE_REDIS_URL", url)
	ctl(t, "reconcile", "run").want(t, exitOK, "1 finding gone")
	ctl(t, "gate").want(t, exitOK)
	if of := quotas(t); of[0].State != console.QuotaEqual || *of[0].Redis.Left != 100 {
		t.Errorf("afterwards %+v", of)
	}
}

// After the database was restored from a backup, Redis is ahead of it.
func TestAStockOfALaterGenerationIsRebuilt(t *testing.T) {
	_, pool := spoilt(t)
	stock(t, pool, 7, 90)
	if of := quotas(t); of[0].State != console.QuotaOther || of[0].Redis.Generation != 7 {
		t.Errorf("shown %+v", of)
	}
	ctl(t, "quota", "drift").want(t, exitFindings, "the pool has generation 7, the books are at 1")
	ctl(t, "quota", "rebuild", "--all").want(t, exitOK)
	if of := quotas(t); of[0].State != console.QuotaEqual || of[0].Generation != 8 {
		t.Errorf("afterwards %+v", of)
	}
}

// Redis knows of an edit by hand at once; without a Redis an edit is as good.
func TestAnEditIsToldToRedis(t *testing.T) {
	_, pool := spoilt(t)
	holds := func(left, generation int64) {
		t.Helper()
		level, err := pool.Level(t.Context(), "spring")
		if err != nil || !level.Loaded || level.Left != left || level.Generation != generation {
			t.Errorf("Redis holds %+v, %v", level, err)
		}
	}
	edit := func(total string) {
		t.Helper()
		template(t, exitOK, "edit", "spring", "--total", total, "--reason", "drill")
	}
	edit("30")
	holds(30, 2)
	applied(t, exitOK, "- {template: spring, total: 20, per_person: 2}", "--reason", "drill")
	holds(20, 3)
	t.Setenv("COUPONLEASE_REDIS_URL", "redis://127.0.0.1:1")
	edit("10")
	t.Setenv("COUPONLEASE_REDIS_URL", "")
	edit("5")
	holds(20, 3)
}

func TestQuotaSaysWhatItNeeds(t *testing.T) {
	_, pool := spoilt(t)
	stock(t, pool, 1, 100)
	template(t, exitOK, "create", "endless")
	ctl(t, "quota", "show", "nowhere").want(t, exitError, "no template nowhere")
	ctl(t, "quota", "show", "endless").want(t, exitFindings, "not limited")
	ctl(t, "quota", "rebuild").want(t, exitFindings, "name a template, or --all")
	ctl(t, "quota", "rebuild", "spring", "--all").want(t, exitFindings, "name a template, or --all")
	ctl(t, "quota", "rebuild", "spring", "--reason", "two\nlines").want(t, exitFindings, "control characters")
	t.Setenv("COUPONLEASE_REDIS_URL", "redis://127.0.0.1:1")
	ctl(t, "quota", "show").want(t, exitError, "Redis")
	ctl(t, "quota", "drift").want(t, exitError, "Redis")
	ctl(t, "reconcile", "run").want(t, exitOK, "QUOTA_DRIFT was not looked for", "Redis")
	t.Setenv("COUPONLEASE_REDIS_URL", "")
	ctl(t, "quota", "show").want(t, exitFindings, "COUPONLEASE_REDIS_URL is not set")
	ctl(t, "reconcile", "run").want(t, exitOK, "QUOTA_DRIFT was not looked for: there is no Redis")
}

// The doctor knows of stocks that no traffic explains.
func TestTheDoctorComparesStocks(t *testing.T) {
	_, pool := spoilt(t)
	t.Setenv("COUPONLEASE_AMQP_URL", "")
	stock(t, pool, 1, 40)
	ctl(t, "doctor").want(t, exitFindings, "redis stocks: as it should be")
	stock(t, pool, 1, 150)
	ctl(t, "doctor").want(t, exitFindings, "redis stocks: they hold more than there is left: spring")
	stock(t, pool, 9, 100)
	ctl(t, "doctor").want(t, exitFindings, "later generation than the database", "spring", "quota rebuild --all")
}

// A batch takes from the stock as well, and Redis knows of it at once, and of who got it.
func TestABatchIsToldToRedis(t *testing.T) {
	_, pool := spoilt(t)
	stock(t, pool, 1, 100)
	people := file(t, "people.csv", "customer\nann\nbob\n")
	ctl(t, "coupons", "issue", "--template", "spring", "--batch", "vip", people).want(t, exitOK)
	level, err := pool.Level(t.Context(), "spring")
	if err != nil || level.Left != 98 || !level.Complete {
		t.Fatalf("Redis has %+v, %v", level, err)
	}
	template(t, exitOK, "edit", "spring", "--total", "2", "--reason", "enough")
	ctl(t, "quota", "rebuild", "spring", "--reason", "enough").want(t, exitOK)
	generation := quotas(t, "spring")[0].Generation
	for person, isHeld := range map[string]bool{"ann": true, "cyd": false} {
		taken := pool.Take(t.Context(), []claims.Ask{{Template: "spring", Request: "r-" + person, Generation: generation, Person: person}})[0]
		if taken.Verdict != claims.SoldOut || taken.Held != isHeld {
			t.Errorf("%s: %+v", person, taken)
		}
	}
}
