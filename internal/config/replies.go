package config

// Replies says where answers may go. It must be the same on all replicas, and where an
// operator asks what would come of a command.
type Replies struct {
	ReplyQueues string `name:"reply-queues" env:"COUPONLEASE_REPLY_QUEUES" default:"reply." form:"prefixes" help:"What queues have to begin with to be named as reply-to, with commas between; coupond writes answers there with its own rights. The same on all replicas. Empty: none. Direct reply-to and queues named by the broker are always taken."`
}

// ReplyPrefixes are what the names of queues for answers may begin with.
func (r Replies) ReplyPrefixes() []string { return listed(r.ReplyQueues) }

// CheckReplies returns an *Error that says what is wrong, nil if nothing is.
func (r Replies) CheckReplies() error { return check(flagsOf(&r), nil) }
