package messages

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
)

const secret = "s3cret-s3cret-s3cret-s3cret-s3cret"

func TestTokenIsNotPrinted(t *testing.T) {
	placed := OrderPlaced{Coupons: []CouponRef{{Code: "C1", LeaseToken: secret}}}
	redeem := RedeemCoupon{LeaseToken: secret}
	reply := CommandReply{LeaseToken: secret}
	var shown strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%z"} {
		fmt.Fprintf(&shown, verb+"\n", Token(secret))
		fmt.Fprintf(&shown, verb+"\n", placed)
		fmt.Fprintf(&shown, verb+"\n", &redeem)
		fmt.Fprintf(&shown, verb+"\n", reply)
	}
	for _, handler := range []slog.Handler{slog.NewTextHandler(&shown, nil), slog.NewJSONHandler(&shown, nil)} {
		slog.New(handler).Info("all", "token", Token(secret), "order", placed, "redeem", &redeem, "reply", reply,
			"renew", RenewLease{LeaseToken: secret}, "release", &ReleaseLease{LeaseToken: secret})
	}
	for _, form := range []string{secret, fmt.Sprintf("%x", secret), fmt.Sprintf("%X", secret)} {
		if strings.Contains(shown.String(), form) {
			t.Errorf("a token shows:\n%s", shown.String())
		}
	}
	if got := fmt.Sprint(Token("")); got != "" {
		t.Errorf("no token prints as %q, want nothing", got)
	}
}

func TestTokenHash(t *testing.T) {
	const want = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	if got := fmt.Sprintf("%x", Token("abc").Hash()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestFaultsDoNotEchoTokens spoils tokens in every way that is refused.
func TestFaultsDoNotEchoTokens(t *testing.T) {
	long := strings.Repeat(secret, 10)
	for _, value := range []string{`"` + long + `"`, `"` + secret + `\u0007"`, `"` + secret + `\u0000"`, `["` + secret + `"]`, `"` + secret + `\ud83d"`, `"` + secret} {
		data := `{"orderId":"o1","customerId":"u1","coupons":[{"code":"C1","leaseToken":` + value + `}],"payable":{"amount":0,"currency":"EUR"}}`
		e, err := Parse(Delivery{Body: []byte(data), MessageID: "m1", Type: TypeOrderPlaced, Timestamp: noon})
		if err == nil {
			_, err = DecodeOrderPlaced(e)
		}
		if err == nil {
			t.Errorf("%s was accepted", value)
		} else if strings.Contains(fmt.Sprintf("%+v %#v", err, err), secret[:6]) {
			t.Errorf("the error shows the token: %v", err)
		}
	}
}

func TestRedactTokens(t *testing.T) {
	for body, want := range map[string]string{
		`{"leaseToken":"x","code":"C1"}`:                 `{"leaseToken":"[redacted]","code":"C1"}`,
		`{"data":{"coupons":[{"leaseToken": "x"} ]}}`:    `{"data":{"coupons":[{"leaseToken": "[redacted]"} ]}}`,
		`{"lease\u0054oken":"x"}`:                        `{"lease\u0054oken":"[redacted]"}`,
		`{"lease_token":{"leaseToken":"x"},"token":[1]}`: `{"lease_token":"[redacted]","token":"[redacted]"}`,
		`{"leaseToken":null,"tokenHash":"ab"}`:           `{"leaseToken":null,"tokenHash":"ab"}`,
		`{"data_base64":"eyJ9"}`:                         `{"data_base64":"[redacted]"}`,
		`"leaseToken"`:                                   `"leaseToken"`,
	} {
		got, ok := RedactTokens([]byte(body))
		if !ok || string(got) != want {
			t.Errorf("%s: got %s, %t, want %s", body, got, ok, want)
		}
	}
	if got, ok := RedactTokens([]byte(`{"leaseToken":"x"`)); ok || bytes.Contains(got, []byte("x")) {
		t.Errorf("what is no JSON: got %s, %t, want nothing", got, ok)
	}
}

func TestRedactBody(t *testing.T) {
	for body, want := range map[string]string{
		`{"leaseToken":"x","code":"C1"}`:                          `{"leaseToken":"[redacted]","code":"C1"}`,
		`{"leaseToken":"SECRET","code":"C1"`:                      `{"leaseToken":"[redacted]","code":"C1"`,
		`{"leaseToken" : "SECRET`:                                 `{"leaseToken" : "[redacted]"`,
		`{"leaseToken":"SE\"CRET","code":"C1"}}`:                  `{"leaseToken":"[redacted]","code":"C1"}}`,
		`{"leaseToken":"SECRET","leaseToken":"SECRET"}`:           `{"leaseToken":"[redacted]","leaseToken":"[redacted]"}`,
		`{"code":"C1, "leaseToken":"SECRET"}`:                     `{"code":"C1, "leaseToken":"[redacted]"}`,
		`{"lease\u0054oken":"SECRET",}`:                           `{"lease\u0054oken":"[redacted]",}`,
		`{"\u006CEASE_TOKEN":"SECRET",}`:                          `{"\u006CEASE_TOKEN":"[redacted]",}`,
		`{"data":"{\"leaseToken\":\"SECRET\",\"code\":\"C1\"}",}`: `{"data":"{\"leaseToken\":"[redacted]",\"code\":\"C1\"}",}`,
		`{"leaseToken":SECRET,"code":"C1"}`:                       `{"leaseToken":"[redacted]","code":"C1"}`,
		`{"token":["SECRET","SECRET"],"code":"C1",}`:              `{"token":"[redacted]"`,
		`{'lease-token':'SECRET', 'code':'C1'}`:                   `{'lease-token':"[redacted]", 'code':'C1'}`,
		"leaseToken: SECRET\ncode: C1\n":                          "leaseToken: \"[redacted]\"\ncode: C1\n",
		`code=C1&lease_token=SECRET&token=SECRET`:                 `code=C1&lease_token="[redacted]"&token="[redacted]"`,
		"{\"leaseToken\":\"SE\xffCRET\",\"code\":\"C1\"}":         `{"leaseToken":"[redacted]","code":"C1"}`,
		`{"data_base64":"SECRET",}`:                               `{"data_base64":"[redacted]",}`,
		`{"tokenHash":"ab","mistoken":"cd",}`:                     `{"tokenHash":"ab","mistoken":"cd",}`,
		"":                                                        "", ":": ":", "token:": "token:", "token: ,": "token: ,", `{"token":"`: `{"token":"[redacted]"`,
		`"token" => "SECRET",`: `"token" => "[redacted]",`, `{"toKen":\`: `{"toKen":"[redacted]"`,
		`{"étoken":"x",}`: `{"étoken":"x",}`, `{"\\\u0074oken":"SECRET",}`: `{"\\\u0074oken":"[redacted]",}`,
		`{"\u00zztoken":"x",}`: `{"\u00zztoken":"x",}`,
	} {
		got := RedactBody([]byte(body))
		if string(got) != want {
			t.Errorf("%s:\ngot  %s\nwant %s", body, got, want)
		}
		if again := RedactBody(got); string(again) != want {
			t.Errorf("%s, hidden twice:\ngot  %s\nwant %s", body, again, want)
		}
	}
}

// TestRedactBodyOfWhatWasCutOff cuts every sample that holds tokens after each of
// its bytes, from the first token on.
func TestRedactBodyOfWhatWasCutOff(t *testing.T) {
	shown := []byte(`"sample-`)
	tokens := 0
	for _, file := range sampleFiles(t) {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		first := bytes.Index(body, shown)
		if first < 0 {
			continue
		}
		tokens++
		for end := first + len(shown); end < len(body); end++ {
			if got := RedactBody(body[:end]); bytes.Contains(got, shown) {
				t.Fatalf("%s cut off at %d shows a token:\n%s", file, end, got)
			}
		}
	}
	if tokens == 0 {
		t.Error("no sample holds a token")
	}
}

func BenchmarkRedactBodyOfJunk(b *testing.B) {
	body := bytes.Repeat([]byte(`{"lease_Tok\\u0065n_":, :=`), MaxBody/26)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		RedactBody(body)
	}
}
