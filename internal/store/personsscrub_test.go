package store

import (
	"strings"
	"testing"

	"couponlease/internal/coupon"
)

func TestEraserFindsIDsAndNothingElse(t *testing.T) {
	e := newEraser("erased:1", "u1", "ann@x.org", "a.b")
	document, prose, same := (*eraser).document, (*eraser).prose, (*eraser).same
	for name, test := range map[string]struct {
		erase     func(*eraser, []byte) []byte
		was, want string
	}{
		"the id as a whole":          {same, " u1 ", "erased:1"},
		"a mail address in capitals": {same, "Ann@X.org", "erased:1"},
		"an id in other letters":     {same, "U1", "U1"},
		"part of a value":            {same, "u1 and", "u1 and"},
		"a word":                     {prose, "customer=u1, u1.", "customer=erased:1, erased:1."},
		"all there is":               {prose, "u1", "erased:1"},
		"in quotes":                  {prose, `{"customerId":"u1"`, `{"customerId":"erased:1"`},
		"part of a word":             {prose, "u12 xu1 _u1", "u12 xu1 _u1"},
		"part of another id":         {prose, "order-u1 u1.2 u1-x", "order-u1 u1.2 u1-x"},
		"a mail address":             {prose, "to ANN@x.org.", "to erased:1."},
		"another mail address":       {prose, "joann@x.org ann@x.org.uk my.ann@x.org", "joann@x.org ann@x.org.uk my.ann@x.org"},
		"a dot is a dot":             {prose, "axb a.b", "axb erased:1"},
		"letters beyond ASCII":       {prose, "éu1 u1é u1 é", "éu1 u1é erased:1 é"},
		"a value of a document":      {document, `{"customerId": "u1" , "n":1.50}`, `{"customerId": "erased:1" , "n":1.50}`},
		"escaped":                    {document, `{"customerId":"\u0075\u0031"}`, `{"customerId":"erased:1"}`},
		"in a list":                  {document, `{"who":["u1",{"x":"u2"},"u1"]}`, `{"who":["erased:1",{"x":"u2"},"erased:1"]}`},
		"prose in a document":        {document, `{"reason":"u1 asked\n"}`, `{"reason":"erased:1 asked\n"}`},
		"a name is no value":         {document, `{"u1":"u2"}`, `{"u1":"u2"}`},
		"an order called like it":    {document, `{"orderId":"u1","data":{"cloudEvents:id":"u1"}}`, `{"orderId":"u1","data":{"cloudEvents:id":"u1"}}`},
		"a quote in a value":         {document, `{"a":"\"","b":"u1"}`, `{"a":"\"","b":"erased:1"}`},
		"a text of its own":          {document, `"u1"`, `"erased:1"`},
		"a hash":                     {document, `{"person":"` + coupon.HashPerson("u1") + `"}`, `{"person":"` + coupon.HashPerson("erased:1") + `"}`},
		"a hash in prose":            {prose, "(counter " + coupon.HashPerson("a.b") + ")", "(counter " + coupon.HashPerson("erased:1") + ")"},
		"the hash of another":        {prose, "(counter " + coupon.HashPerson("u2") + ")", "(counter " + coupon.HashPerson("u2") + ")"},
		"no document":                {document, `{"customerId":"u1",`, `{"customerId":"erased:1",`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := string(test.erase(e, []byte(test.was))); got != test.want {
				t.Errorf("got %s\nwant %s", got, test.want)
			}
		})
	}
}

// FuzzEraser: a document stays one, and erasing again finds nothing.
func FuzzEraser(f *testing.F) {
	f.Add(`{"a":"u1","b":["u1 and \u0075\u0031",1e5,null]}`)
	f.Add(`u1 \ "`)
	f.Fuzz(func(t *testing.T, text string) {
		e := newEraser("erased:1", "u1")
		once := string(e.document([]byte(text)))
		if twice := string(e.document([]byte(once))); twice != once {
			t.Errorf("%q became %q, and then %q", text, once, twice)
		}
		if !strings.Contains(text, "u1") && !strings.Contains(text, `\u`) && once != text {
			t.Errorf("%q became %q", text, once)
		}
	})
}

func TestWhatCannotBeSearchedForIsRead(t *testing.T) {
	for id, want := range map[string]string{"U1": "u1 " + coupon.HashPerson("U1"), "é": "", `a"b`: "", "a\tb": ""} {
		if got := strings.Join(newEraser("erased:1", id).needles(false), " "); got != want {
			t.Errorf("%q is searched for as %q, want %q", id, got, want)
		}
	}
}
