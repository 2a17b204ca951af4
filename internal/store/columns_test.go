package store

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"couponlease/internal/batcher"
)

// TestColumnsArriveAsSent sends each type of column and reads it back as text.
func TestColumnsArriveAsSent(t *testing.T) {
	s := open(t)
	null := "null"
	for name, test := range map[string]struct {
		kind string
		sent any
		want []string
	}{
		"texts":             {"text", texts{"", "a,\"b\" {c}", "käufer"}, []string{"", "a,\"b\" {c}", "käufer"}},
		"no texts":          {"text", texts{}, nil},
		"optional texts":    {"text", optionalTexts{"a", ""}, []string{"a", null}},
		"uuids":             {"uuid", uuids{noUUID, ""}, []string{noUUID, null}},
		"integers":          {"bigint", integers{0, -1, 1 << 62}, []string{"0", "-1", "4611686018427387904"}},
		"optional integers": {"bigint", optionalIntegers{0, 7}, []string{null, "7"}},
		"smalls":            {"int", smalls{-3, 1 << 30}, []string{"-3", "1073741824"}},
		"booleans":          {"boolean", booleans{true, false}, []string{"true", "false"}},
		"binaries":          {"bytea", binaries{{0, 255}, nil, {}}, []string{`\x00ff`, null, `\x`}},
		"times": {"timestamptz", times{
			time.Date(2026, 3, 1, 12, 0, 0, 123456999, time.FixedZone("", 3600)), {},
			time.Date(1969, 7, 20, 0, 0, 0, 1000, time.UTC),
		}, []string{"2026-03-01 11:00:00.123456+00", null, "1969-07-20 00:00:00.000001+00"}},
		"dates": {"date", dates{
			time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC),
		}, []string{"2026-03-01", "1999-12-31"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			err := s.each(t.Context(), "select coalesce(n::text, 'null') from unnest($1::"+test.kind+"[]) as n",
				func(rows pgx.Rows) error {
					var value string
					got = append(got, value)
					return rows.Scan(&got[len(got)-1])
				}, test.sent)
			if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestWhatIsNoUUIDIsRefused(t *testing.T) {
	s := open(t)
	for _, id := range []string{"x", "00000000-0000-0000-0000-00000000000g", "0000000000000-0000-0000-0000-0000000000"} {
		err := s.each(t.Context(), "select unnest($1::uuid[])", func(pgx.Rows) error { return errors.New("arrived") },
			uuids{id})
		if Classify(err) != batcher.Poison {
			t.Errorf("%s: %v", id, err)
		}
	}
}

func TestArrayLiteral(t *testing.T) {
	s := open(t)
	for _, list := range [][]string{nil, {"a"}, {"", `q"u\o,te`, "{}", "null", " space "}} {
		var got []string
		if err := s.pool.QueryRow(t.Context(), "select $1::text::text[]", arrayLiteral(list)).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(list, orNil(got)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestColumnsSayHowMuchRoomTheyNeed: full columns take exactly what they say, those
// with nulls less, so that none has to grow while it is encoded.
func TestColumnsSayHowMuchRoomTheyNeed(t *testing.T) {
	day := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		full, sparse column
	}{
		"texts":    {texts{"", "käufer"}, texts{}},
		"optional": {optionalTexts{"a", "bc"}, optionalTexts{"", "bc"}},
		"uuids":    {uuids{noUUID, noUUID}, uuids{"", noUUID}},
		"integers": {integers{0, -1}, optionalIntegers{0, 7}},
		"small":    {smalls{1, 2}, booleans{true}},
		"binaries": {binaries{{0, 255}, {}}, binaries{nil, {1}}},
		"times":    {times{day, day}, times{{}, day}},
		"dates":    {dates{day}, dates{}},
	} {
		encoded := func(c column) (n int) {
			for i := range c.length() {
				element, err := c.appendElement(nil, i)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				n += len(element)
			}
			return n
		}
		if got := encoded(test.full); got != test.full.size() {
			t.Errorf("%s: %d bytes, announced %d", name, got, test.full.size())
		}
		if got := encoded(test.sparse); got > test.sparse.size() {
			t.Errorf("%s with nulls: %d bytes, announced %d", name, got, test.sparse.size())
		}
	}
}
