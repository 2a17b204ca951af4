select place_row, content from texts_naming($1, $2, $3)
