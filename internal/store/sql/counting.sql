-- What follows is only for the counting.
savepoint counting
