package console

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"couponlease/internal/coupon"
)

func TestPercentagesAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string]Percent{"20": 2000, "12.5": 1250, "0.05": 5, "100": 10_000, "7.10": 710, "3.": 300} {
		var got Percent
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%s is %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", ".5", "-1", "+1", "100.01", "1.234", "1e1", "99999999999", "12,5", "1.-5"} {
		if err := new(Percent).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was read as a percentage", text)
		}
	}
}

func TestLimitsAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string]Limit{"0": 0, "17": 17, "none": Limit(coupon.NoLimit), "9007199254740991": 1<<53 - 1} {
		var got Limit
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want || got.String() != text {
			t.Errorf("%s is %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "-1", "None", "9007199254740992", "1.5", "1,000"} {
		if err := new(Limit).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was read as a limit", text)
		}
	}
}

// drawTerms draws possible terms.
func drawTerms(t *rapid.T) coupon.Terms {
	limit := rapid.OneOf(rapid.Just(coupon.NoLimit), rapid.Int64Range(0, 1<<53-1))
	sum := rapid.Int64Range(1, 1<<53-1)
	terms := coupon.Terms{
		Name:   rapid.StringMatching(`[ -~äöü生]{0,20}`).Draw(t, "name"),
		Status: rapid.SampledFrom([]coupon.TemplateStatus{coupon.TemplateActive, coupon.TemplatePaused, coupon.TemplateDown}).Draw(t, "status"),
		Total:  limit.Draw(t, "total"), PerPerson: limit.Draw(t, "per person"), PerDay: limit.Draw(t, "per day"),
		Budget: limit.Draw(t, "budget"), UsesPerPerson: limit.Draw(t, "uses per person"),
		PolicyVersion: rapid.Int64Range(1, 9).Draw(t, "policy"), ValidDays: rapid.IntRange(0, 36500).Draw(t, "days"),
		Zone:         rapid.SampledFrom([]string{"", "Europe/Berlin", "Asia/Kathmandu"}).Draw(t, "zone"),
		Transferable: rapid.Bool().Draw(t, "transferable"),
	}
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 1:
		terms.Discount = coupon.Discount{Kind: coupon.AmountOff, Amount: sum.Draw(t, "sum"), MinSpend: sum.Draw(t, "spend"), Currency: "EUR"}
	case 2:
		terms.Discount = coupon.Discount{Kind: coupon.NoThreshold, Amount: sum.Draw(t, "sum"), Currency: "USD"}
	case 3:
		terms.Discount = coupon.Discount{Kind: coupon.PercentOff, BasisPoints: rapid.Int64Range(1, 10_000).Draw(t, "points")}
	case 4:
		terms.Discount = coupon.Discount{Kind: coupon.PercentOff, BasisPoints: 1, MinSpend: sum.Draw(t, "spend"), Currency: "JPY"}
	}
	at := func(name string, least int64) time.Time {
		return time.UnixMicro(rapid.Int64Range(least, least+1e15).Draw(t, name)).UTC()
	}
	if rapid.Bool().Draw(t, "begins") {
		terms.ValidFrom = at("from", 0)
	}
	if rapid.Bool().Draw(t, "ends") {
		terms.ValidUntil = at("until", 1e15+1)
	}
	return terms
}

func TestWrittenTemplatesAreReadAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		terms := drawTerms(t)
		var file bytes.Buffer
		if err := WriteTemplates(&file, []TemplateView{{ID: "t", Terms: termsView(terms)}}); err != nil {
			t.Fatal(err)
		}
		text := file.String()
		documents, err := ReadTemplates(&file)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		got, err := documents[0].whole("")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(terms, got); diff != "" {
			t.Errorf("read (-want +got):\n%s\n%s", diff, text)
		}
	})
}

// Every term that two terms can differ in is told, and nothing is told of equal ones.
func TestEveryChangedTermIsTold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := drawTerms(t), drawTerms(t)
		told := changedTerms(before, after)
		if same := cmp.Equal(before, after); same != (len(told) == 0) {
			t.Errorf("same %t, but told %v", same, told)
		}
		edit := wholeEdit(after)
		if diff := cmp.Diff(after, edit.With(before)); diff != "" {
			t.Errorf("a whole edit leaves something (-want +got):\n%s", diff)
		}
	})
}
