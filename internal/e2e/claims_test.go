package e2e

import (
	"flag"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/fleet"
	"couponlease/internal/quota"
	"couponlease/internal/telemetry"
	"couponlease/internal/testkit"
	"couponlease/messages"
)

// crowdSize is how many people come; a fifth of them get something.
var crowdSize = flag.Int("crowd", 2500, "people who claim a campaign of a fifth as many coupons")

// crowdRepeats is the share of people who claim twice.
const crowdRepeats = 0.3

// hall is where crowds claim: replicas, and who listens to answers and events.
type hall struct {
	space    *fleet.Space
	desk     *fleet.Desk
	sink     *fleet.Sink
	pool     *quota.Pool
	binary   string
	replicas []*fleet.Process
}

// openHall starts so many replicas on a space.
func openHall(t *testing.T, space *fleet.Space, replicas int) *hall {
	t.Helper()
	h := &hall{
		space: space, desk: fleet.OpenDesk(t, space), sink: fleet.Listen(t, space), pool: space.Pool(t),
		binary: fleet.Binary(t),
	}
	for range replicas {
		h.replicas = append(h.replicas, fleet.Start(t, h.binary, space))
	}
	return h
}

// rush is a crowd that claims a campaign of one coupon a person. It comes in two parts: the
// first alone cannot sell the campaign out.
type rush struct {
	*hall
	campaign    string
	total       int64
	first, rest []fleet.Claim
}

func (h *hall) rush(t *testing.T, campaign string, people int) *rush {
	t.Helper()
	total := people / 5
	early := total * 6 / 10
	h.space.Campaign(t, campaign, int64(total), 1)
	return &rush{
		hall: h, campaign: campaign, total: int64(total),
		first: fleet.Claims(campaign, 0, early, crowdRepeats, 1),
		rest:  fleet.Claims(campaign, early, people, crowdRepeats, 2),
	}
}

// runWith lets the crowd claim; in the middle of it something happens, which is told when
// the rest of the crowd is under way.
func (r *rush) runWith(t *testing.T, happen, end func()) {
	t.Helper()
	first := r.desk.Send(t, r.first)
	r.space.WaitForIssued(t, r.campaign, r.total*3/10)
	happen()
	rest := r.desk.Send(t, r.rest)
	end()
	first.Wait(t)
	rest.Wait(t)
	r.desk.WaitForAnswers(t)
}

// N people claim a fifth as many coupons, a third of them again, through four replicas of
// which one is killed in the middle.
func TestCrowdGetsExactlyWhatThereIs(t *testing.T) {
	h := openHall(t, fleet.NewSpace(t), 4)
	r := h.rush(t, "crowd", *crowdSize)
	began := time.Now()
	r.runWith(t, func() { h.replicas[0].Signal(t, syscall.SIGKILL) }, func() {})
	took := time.Since(began)
	t.Logf("%d claims of %d people for %d coupons answered in %s, %.0f a second",
		len(r.first)+len(r.rest), *crowdSize, r.total, took.Round(time.Millisecond),
		float64(len(r.first)+len(r.rest))/took.Seconds())
	r.check(t)
	h.close(t, "crowd")
	if !h.replicas[0].Exited() {
		t.Error("the replica that was killed lives")
	}
	h.figures(t, h.replicas[1:])
}

// check proves what is to be true of a crowd that was answered.
func (r *rush) check(t *testing.T) {
	t.Helper()
	granted := r.checkAnswers(t)
	if issued := r.space.Template(t, r.campaign).Issued; issued != r.total || int64(len(granted)) != r.total {
		t.Errorf("%d coupons are issued and %d claims granted, want %d", issued, len(granted), r.total)
	}
	var again []fleet.Claim
	for claim := range granted {
		claim.Message += "/again"
		again = append(again, claim)
	}
	r.desk.Send(t, again).Wait(t)
	r.desk.WaitForAnswers(t)
	for claim, coupon := range granted {
		claim.Message += "/again"
		for _, reply := range r.desk.Answers(claim) {
			if reply.Outcome != "OK" || reply.CouponID != coupon {
				t.Errorf("key %s got %s, and when it came again %s %s", claim.Key, coupon, reply.Outcome, reply.CouponID)
			}
		}
	}
	r.checkEvents(t)
}

// checkAnswers gives the coupon of each key that got one, in a claim without its message.
func (r *rush) checkAnswers(t *testing.T) map[fleet.Claim]string {
	t.Helper()
	granted, owners, has := map[fleet.Claim]string{}, map[string]string{}, map[string]string{}
	codes := map[string]int{}
	for _, claim := range append(r.first, r.rest...) {
		for _, reply := range r.desk.Answers(claim) {
			codes[reply.Outcome]++
			if reply.Outcome != "OK" {
				if reply.CouponID != "" || reply.Outcome != string(coupon.QuotaExhausted) && reply.Outcome != string(coupon.LimitReached) {
					t.Errorf("%+v was answered %+v", claim, reply)
				}
				continue
			}
			key := fleet.Claim{Message: claim.Key, Key: claim.Key, Campaign: claim.Campaign, Person: claim.Person}
			if before, known := granted[key]; known && before != reply.CouponID {
				t.Errorf("key %s got %s and %s", claim.Key, before, reply.CouponID)
			}
			if before, known := owners[reply.CouponID]; known && before != claim.Person {
				t.Errorf("coupon %s went to %s and to %s", reply.CouponID, before, claim.Person)
			}
			if before, known := has[claim.Person]; known && before != reply.CouponID {
				t.Errorf("%s has %s and %s", claim.Person, before, reply.CouponID)
			}
			granted[key], owners[reply.CouponID], has[claim.Person] = reply.CouponID, claim.Person, reply.CouponID
		}
	}
	t.Logf("answers: %v", codes)
	return granted
}

// checkEvents: every refused key was announced, and once that nothing is left.
func (r *rush) checkEvents(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, time.Minute, "every refusal is announced", func() (bool, string) {
		announced := map[string]bool{}
		for _, cause := range r.sink.Causes(messages.TypeCouponClaimRejected) {
			announced[cause] = true
		}
		keys := map[string]bool{} // of refused claims: whether announced
		for _, claim := range append(r.first, r.rest...) {
			for _, reply := range r.desk.Answers(claim) {
				if reply.Outcome != "OK" {
					keys[claim.Key] = keys[claim.Key] || announced[claim.Message]
				}
			}
		}
		missing := 0
		for _, isAnnounced := range keys {
			if !isAnnounced {
				missing++
			}
		}
		return missing == 0 && len(keys) > 0, fmt.Sprintf("%d of %d are missing", missing, len(keys))
	})
	soldOut := 0
	for _, cause := range r.sink.Causes(messages.TypeCampaignSoldOut) {
		if strings.HasPrefix(cause, r.campaign+"/") {
			soldOut++
		}
	}
	if soldOut != 1 {
		t.Errorf("it was announced %d times that nothing is left of %s", soldOut, r.campaign)
	}
}

// close proves what is to be true of everything in the end.
func (h *hall) close(t *testing.T, campaigns ...string) {
	t.Helper()
	for _, campaign := range campaigns {
		h.comeLate(t, campaign)
		h.space.WaitForStock(t, h.pool, campaign)
	}
	if broken := h.desk.Broken(); len(broken) > 0 {
		t.Errorf("%d answers cannot be read, the first: %s", len(broken), broken[0])
	}
	h.checkIssued(t)
	h.space.CheckNoDeadLetters(t)
	h.space.CheckTemplates(t)
	h.space.Check(t)
}

// comeLate has people claim until Redis has a stock of the campaign, which it may have lost.
func (h *hall) comeLate(t *testing.T, campaign string) {
	t.Helper()
	came := 0
	testkit.Eventually(t, time.Minute, "Redis has a stock of "+campaign, func() (bool, string) {
		came++
		name := fmt.Sprintf("%s/late-%d", campaign, came)
		late := fleet.Claim{Message: name, Key: name, Campaign: campaign, Person: name}
		h.desk.Send(t, []fleet.Claim{late}).Wait(t)
		h.desk.WaitForAnswers(t)
		if reply := h.desk.Answers(late)[0]; reply.Outcome != string(coupon.QuotaExhausted) {
			t.Errorf("who came late was answered %+v", reply)
		}
		level, err := h.pool.Level(t.Context(), campaign)
		return err == nil && level.Loaded, fmt.Sprintf("%+v, %v, after %d", level, err, came)
	})
}

// checkIssued: of every coupon it was announced that it was issued.
func (h *hall) checkIssued(t *testing.T) {
	t.Helper()
	var operations []string
	err := h.space.Store.EachHistory(t.Context(), func(history coupon.History) error {
		operations = append(operations, history.Operations[0].ID)
		return nil
	})
	if err != nil || len(operations) == 0 {
		t.Fatalf("read %d coupons: %v", len(operations), err)
	}
	testkit.Eventually(t, time.Minute, "every coupon is announced", func() (bool, string) {
		missing := 0
		for _, operation := range operations {
			if !h.sink.Seen(operation) {
				missing++
			}
		}
		return missing == 0, fmt.Sprintf("%d of %d are missing", missing, len(operations))
	})
}

// figures shows what the desks of replicas did.
func (h *hall) figures(t *testing.T, replicas []*fleet.Process) {
	t.Helper()
	for _, name := range []string{
		telemetry.ClaimsAsked, telemetry.ClaimsRefused, telemetry.ClaimsBypassed, telemetry.QuotaReturned,
		telemetry.QuotaRestocks, telemetry.QuotaDrifts,
	} {
		var values []float64
		for _, replica := range replicas {
			value, err := replica.Metric(name)
			if err != nil {
				t.Error(err)
			}
			values = append(values, value)
		}
		t.Logf("%s: %v", name, values)
	}
}
