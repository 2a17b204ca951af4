-- A letter gets another note, and the one before is told.
with letter as (
    select d.dead_letter_id, d.note
    from dead_letter d
    where d.dead_letter_id = $1
    for update of d
)
update dead_letter d
set note = $2, changed_at = clock_timestamp()
from letter l
where d.dead_letter_id = l.dead_letter_id
returning l.note
