package testkit

import (
	"context"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Postgres creates an empty schema and returns a URL whose connections find that schema and nothing else on their
// search path. The schema is dropped when the test ends; a connection that the test left with locks fails it.
func Postgres(t testing.TB) string {
	t.Helper()
	server := serviceURL(t, postgresVariable)
	schema := uniqueName(t)
	admin(t, server, "CREATE SCHEMA "+schema)
	t.Cleanup(func() {
		admin(t, server, "SET lock_timeout = '10s'", "DROP SCHEMA "+schema+" CASCADE")
	})
	own := *server
	query := own.Query()
	query.Set("options", "-csearch_path="+schema)
	own.RawQuery = query.Encode()
	return own.String()
}

// EmptyDatabase creates a database beside the one that Postgres makes schemas in, for a
// backup to be restored into, and returns its URL. It is dropped when the test ends, with
// whatever connections there are.
func EmptyDatabase(t testing.TB) string {
	t.Helper()
	server := serviceURL(t, postgresVariable)
	name := uniqueName(t)
	admin(t, server, "CREATE DATABASE "+name)
	t.Cleanup(func() { admin(t, server, "DROP DATABASE "+name+" WITH (FORCE)") })
	own := *server
	own.Path = "/" + name
	return own.String()
}

// admin runs statements on a connection of its own.
func admin(t testing.TB, server *url.URL, statements ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), setupLimit)
	defer cancel()
	conn, err := pgx.Connect(ctx, server.String())
	if err != nil {
		t.Fatalf("PostgreSQL at %s does not answer: %v; %s", server.Host, err, howToStart)
	}
	defer conn.Close(ctx)
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}
