package console

import (
	"bytes"
	"testing"

	"couponlease/internal/coupon"
)

func TestTimelineOfTheIncident(t *testing.T) {
	w := newWorld(t)
	w.incident("Coupon_Demo_1001")
	line, found, err := w.Timeline(t.Context(), " COUPON_demo_1001 ")
	if err != nil || !found {
		t.Fatalf("found %t, %v", found, err)
	}
	for _, output := range []struct {
		format Format
		name   string
	}{{FormatText, "incident.txt"}, {FormatJSON, "incident.json"}} {
		var b bytes.Buffer
		if err := Write(&b, output.format, line); err != nil {
			t.Fatal(err)
		}
		golden(t, output.name, b.String())
	}
	if !line.Reviewed("A", coupon.ReviewLatePaymentTaken) || line.Reviewed("B", coupon.ReviewLatePaymentTaken) {
		t.Errorf("reviews: %+v", line.Reviews)
	}
}

func TestTimelineOfACouponThatNeverExisted(t *testing.T) {
	w := newWorld(t)
	if _, found, err := w.Timeline(t.Context(), "nowhere"); found || err != nil {
		t.Fatalf("nobody has heard of the coupon: found %t, %v", found, err)
	}
	w.ask("typo", placed("A", "nowhere"))
	line, found, err := w.Timeline(t.Context(), "nowhere")
	if err != nil || !found {
		t.Fatalf("an order has named it: found %t, %v", found, err)
	}
	var b bytes.Buffer
	if err := line.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "unknown.txt", b.String())
}
