package store

import _ "embed"

// The statements about dead letters and replays.
var (
	//go:embed sql/letter_attempts.sql
	letterAttemptsSQL string
	//go:embed sql/letter_get.sql
	letterGetSQL string
	//go:embed sql/letter_note.sql
	letterNoteSQL string
	//go:embed sql/letters_fail.sql
	lettersFailSQL string
	//go:embed sql/letters_groups.sql
	lettersGroupsSQL string
	//go:embed sql/letters_insert.sql
	lettersInsertSQL string
	//go:embed sql/letters_list.sql
	lettersListSQL string
	//go:embed sql/letters_lock.sql
	lettersLockSQL string
	//go:embed sql/letters_mark.sql
	lettersMarkSQL string
	//go:embed sql/letters_page.sql
	lettersPageSQL string
	//go:embed sql/letters_reserve.sql
	lettersReserveSQL string
	//go:embed sql/letters_stats.sql
	lettersStatsSQL string
	//go:embed sql/replay_hold.sql
	replayHoldSQL string
	//go:embed sql/replay_insert.sql
	replayInsertSQL string
	//go:embed sql/replay_items.sql
	replayItemsSQL string
	//go:embed sql/replay_jobs.sql
	replayJobsSQL string
	//go:embed sql/replay_letters.sql
	replayLettersSQL string
	//go:embed sql/replay_lock.sql
	replayLockSQL string
	//go:embed sql/replay_outcomes.sql
	replayOutcomesSQL string
	//go:embed sql/replay_save.sql
	replaySaveSQL string
	//go:embed sql/replay_sent.sql
	replaySentSQL string
	//go:embed sql/replay_skip.sql
	replaySkipSQL string
	//go:embed sql/replays_lock.sql
	replaysLockSQL string
	//go:embed sql/replays_record.sql
	replaysRecordSQL string
	//go:embed sql/replays_running.sql
	replaysRunningSQL string
)
