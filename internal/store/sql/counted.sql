-- Settings are as they were; locks that were taken before stay.
rollback to savepoint counting
