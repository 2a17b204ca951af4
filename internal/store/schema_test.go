package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"couponlease/internal/testkit"
)

func TestInSchema(t *testing.T) {
	tests := []struct{ name, url, want string }{
		{"plain", "postgres://u:p@db/c", "postgres://u:p@db/c?options=-csearch_path%3Dmine"},
		{"with another schema", "postgres://u:p@db/c?options=-csearch_path%3Dtheirs&sslmode=disable",
			"postgres://u:p@db/c?options=-csearch_path%3Dmine&sslmode=disable"},
		{"with other options", "postgres://u:p@db/c?options=-cwork_mem%3D8MB",
			"postgres://u:p@db/c?options=-cwork_mem%3D8MB%20-csearch_path%3Dmine"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := InSchema(test.url, "mine")
			if err != nil || got != test.want {
				t.Errorf("got %s, %v; want %s", got, err, test.want)
			}
		})
	}
	if _, err := InSchema("host=db password=hush", "mine"); err == nil || strings.Contains(err.Error(), "hush") {
		t.Errorf("a URL that is none: %v", err)
	}
}

// A schema of one's own is made, used and gone, whatever its name.
func TestCreateAndDropSchema(t *testing.T) {
	own := fmt.Sprintf("own_%d", time.Now().UnixNano())
	name := own + ` "odd"`
	server := testkit.Postgres(t)
	ctx := t.Context()
	if err := CreateSchema(ctx, server, name); err != nil {
		t.Fatal(err)
	}
	if err := CreateSchema(ctx, server, name); err == nil {
		t.Error("a schema that exists was created")
	}
	for range 2 {
		if err := DropSchema(ctx, server, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := CreateSchema(ctx, server, own); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := DropSchema(ctx, server, own); err != nil {
			t.Error(err)
		}
	}()
	inside, err := InSchema(server, own)
	if err != nil {
		t.Fatal(err)
	}
	s := openAt(t, inside)
	if err := s.MigrateUp(ctx); err != nil {
		t.Fatal(err)
	}
	if codes, err := s.Codes(ctx, []string{"x"}); err != nil || len(codes) > 0 {
		t.Errorf("codes of an empty schema: %v, %v", codes, err)
	}
	if err := openAt(t, server).each(ctx, readCodesSQL, nil, texts{}); err == nil {
		t.Error("the schema is reached without being asked for")
	}
}
