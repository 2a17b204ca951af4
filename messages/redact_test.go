package messages

import "testing"

func TestHoldsTokens(t *testing.T) {
	for body, want := range map[string]bool{
		`{"leaseToken":"hush"}`:                     true,
		`{"coupons":[{"a":1},{"Lease-Token":"h"}]}`: true,
		`{"data_base64":"aHVzaA=="}`:                true,
		`{"leaseToken":null,"note":"[redacted]"}`:   false,
		`{"orderId":"o1"}`:                          false,
		`{"leaseToken":"hush"`:                      true,
		`{"orderId":`:                               false,
		``:                                          false,
	} {
		if got := HoldsTokens([]byte(body)); got != want {
			t.Errorf("%q holds tokens: %t, want %t", body, got, want)
		}
		if got := HoldsTokens(RedactBody([]byte(body))); got != want {
			t.Errorf("%q, once blanked, holds tokens: %t, want %t", body, got, want)
		}
	}
}
