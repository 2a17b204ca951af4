package store

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// InSchema is the database's URL with connections that find the named schema and
// nothing else on their search path.
func InSchema(databaseURL, schema string) (string, error) {
	u, err := url.Parse(databaseURL)
	if err != nil || u.Host == "" {
		// The cause would quote the URL, and with it the password.
		return "", fmt.Errorf("the database URL is not of the form postgres://user:password@host:5432/database")
	}
	query := u.Query()
	options := slices.DeleteFunc(strings.Fields(query.Get("options")), func(option string) bool {
		return strings.HasPrefix(option, "-csearch_path=")
	})
	query.Set("options", strings.Join(append(options, "-csearch_path="+schema), " "))
	// In these URLs a plus is a plus, never a space.
	u.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20")
	return u.String(), nil
}

// CreateSchema makes an empty schema, for whoever wants a place of their own in a
// database. It is an error when the schema exists.
func CreateSchema(ctx context.Context, databaseURL, schema string) error {
	return administer(ctx, databaseURL, "create schema "+pgx.Identifier{schema}.Sanitize())
}

// DropSchema deletes a schema with everything in it. One that is not there is fine.
func DropSchema(ctx context.Context, databaseURL, schema string) error {
	return administer(ctx, databaseURL, "drop schema if exists "+pgx.Identifier{schema}.Sanitize()+" cascade")
}

// administer runs one statement on a connection of its own.
func administer(ctx context.Context, databaseURL, statement string) error {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}
