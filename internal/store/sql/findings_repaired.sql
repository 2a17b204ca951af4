update finding set repair = $2 where finding_id = $1
