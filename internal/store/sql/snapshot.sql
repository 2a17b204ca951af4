begin isolation level repeatable read read only
