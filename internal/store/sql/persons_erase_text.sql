select erase_text($1, $2, $3, $4, $5)
