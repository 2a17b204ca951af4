package fleet

// PID is the process id of coupond, for whoever measures it.
func (p *Process) PID() int { return p.command.Process.Pid }
