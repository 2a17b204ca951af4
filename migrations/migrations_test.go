package migrations_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"couponlease/internal/store"
	"couponlease/internal/testkit"
)

func open(t *testing.T, url string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// schema lists what a schema holds, down to types, constraints, indexes, triggers and
// the text of functions. Daily partitions are in it.
func schema(t *testing.T, url string) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	rows, err := conn.Query(t.Context(), `
		select 'column ' || c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' ' ||
		       a.attnotnull || ' ' || a.attstorage::text || ' ' || a.attcollation::regcollation::text
		from pg_class c join pg_attribute a on a.attrelid = c.oid
		where c.relnamespace = current_schema()::regnamespace and a.attnum > 0 and c.relkind in ('r', 'p')
		union all
		select 'table ' || relname || ' ' || relkind::text || ' ' || coalesce(reloptions::text, '') || ' ' ||
		       coalesce(pg_get_expr(relpartbound, oid), '')
		from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p', 'S')
		union all
		select 'index ' || indexdef from pg_indexes where schemaname = current_schema()
		union all
		select 'constraint ' || conname || ' ' || pg_get_constraintdef(oid)
		from pg_constraint where connamespace = current_schema()::regnamespace
		union all
		select 'trigger ' || pg_get_triggerdef(t.oid) from pg_trigger t join pg_class c on c.oid = t.tgrelid
		where c.relnamespace = current_schema()::regnamespace and not t.tgisinternal
		union all
		select 'function ' || pg_get_functiondef(oid) from pg_proc where pronamespace = current_schema()::regnamespace
		order by 1`)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func TestUpDownUp(t *testing.T) {
	url := testkit.Postgres(t)
	s := open(t, url)
	up := func() []string {
		t.Helper()
		if err := s.MigrateUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		return schema(t, url)
	}
	first := up()
	if diff := cmp.Diff(first, up()); diff != "" {
		t.Errorf("up twice (-once +twice):\n%s", diff)
	}
	if err := s.MigrateDown(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, line := range schema(t, url) {
		if !strings.Contains(line, "goose_db_version") {
			t.Errorf("left behind: %s", line)
		}
	}
	if diff := cmp.Diff(first, up()); diff != "" {
		t.Errorf("up, down, up (-first +second):\n%s", diff)
	}
}

func TestReplicasMigrateAtOnce(t *testing.T) {
	url := testkit.Postgres(t)
	var replicas sync.WaitGroup
	for range 4 {
		s := open(t, url)
		replicas.Go(func() {
			if err := s.MigrateUp(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	replicas.Wait()
	states, err := open(t, url).MigrationStatus(t.Context())
	if err != nil || len(states) == 0 {
		t.Fatalf("%d migrations: %v", len(states), err)
	}
	for i, state := range states {
		if !state.Applied || state.Version != int64(i+1) {
			t.Errorf("%+v, want version %d to be applied", state, i+1)
		}
	}
}
