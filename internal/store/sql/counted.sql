-- Settings are as they were. Locks that were taken before stay.
rollback to savepoint counting
