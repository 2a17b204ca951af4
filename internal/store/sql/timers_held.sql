select timers_held($1)
