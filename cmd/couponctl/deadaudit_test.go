package main

import (
	"crypto/sha256"
	"fmt"
	"testing"
)

// What a command by filter did can be told afterwards: how the letters stood, and, from
// a list of ids, whether it were those.
func TestAuditOfLettersTellsHowTheyStood(t *testing.T) {
	m := newMorgue(t)
	for _, id := range []string{"m-1", "m-2", "m-3"} {
		m.letter(id, "o-"+id, "")
	}
	do := func(args ...string) {
		ctl(t, append([]string{"dead"}, append(args, "--reason", "x")...)...).want(t, exitOK)
	}
	do("note", m.ids["m-1"], "ask the shop")
	do("note", m.ids["m-1"], "the shop says no")
	do("discard", "--state", "NEW", "--yes")
	m.scalar(`update dead_letter set status = 'EDITED' where message_id = 'm-2' returning status`)
	do("restore", "--state", "DISCARDED", "--state", "EDITED", "--yes")

	all := fmt.Sprintf("%x", sha256.Sum256([]byte(m.ids["m-1"]+"\n"+m.ids["m-2"]+"\n"+m.ids["m-3"]+"\n")))
	for query, want := range map[string]string{
		`select string_agg(coalesce(detail->'arguments'->>'noteBefore', '-'), ',' order by audit_id) from audit_log
			where action = 'NoteDeadLetter'`: "-,ask the shop",
		`select (detail->'arguments'->'before')::text from audit_log where action = 'DiscardDeadLetters'`: `{"NEW": 3}`,
		`select (detail->'arguments'->'before')::text from audit_log where action = 'RestoreDeadLetters'`: `{"EDITED": 1, "DISCARDED": 2}`,
		`select string_agg(distinct detail->'arguments'->>'idsSha256', ',') from audit_log`:               all,
	} {
		if got := m.scalar(query); got != want {
			t.Errorf("%s\ngives %s, want %s", query, got, want)
		}
	}
}
