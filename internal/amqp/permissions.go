package amqp

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Users of the broker, one for each kind of client.
const (
	UserOrderService   = "order-service"
	UserPaymentService = "payment-service"
	UserRefundService  = "refund-service"
	UserCampaigns      = "campaign-service"
	UserTill           = "till"
	UserOperator       = "operator"
	UserListener       = "listener"
	UserWorker         = "coupond"
	UserDeclarer       = "coupond-declare"
)

// defaultExchange is what the broker's permissions call the exchange without a
// name. Who may write to it reaches every queue.
const defaultExchange = "amq.default"

// Rights are what a user may do with exchanges and queues, each a list of
// regular expressions of which one has to match the whole name.
type Rights struct {
	// Configure is to declare and delete, Write to publish to an exchange and to
	// bind what others publish, Read to consume a queue and to bind to an exchange.
	Configure, Write, Read []string
}

// TopicRight narrows what a user may write to a topic exchange.
type TopicRight struct {
	Exchange string
	// Subjects are how the routing keys may begin: whole words, without the dot.
	Subjects []string
}

// Role is one kind of client of the broker.
type Role struct {
	User string
	// Purpose says who that is, in a few words.
	Purpose string
	// Tags let the user use the management API.
	Tags   []string
	Rights Rights
	Topics []TopicRight
}

// Roles lists who may do what on the broker.
//
// Nobody who may publish may also declare. A user with an exchange or a queue of
// its own passes by the topic rights: it binds its exchange to the shared one, or
// lets its queue dead-letter there, and the broker does not look at the routing
// keys on that way. Answers therefore come by direct reply-to, which needs no
// right at all, or to queues that somebody else has declared for the user:
// reply.order-service for order-service, and those whose names go on behind a dot.
func Roles() []Role {
	return []Role{
		publishes(UserOrderService, "announces orders, holds coupons for checkouts",
			TopicRight{ExchangeCommerce, []string{"order"}},
			commands("lock", "renew", "release", "swap")),
		publishes(UserPaymentService, "announces payments", TopicRight{ExchangeCommerce, []string{"payment"}}),
		publishes(UserRefundService, "announces refunds", TopicRight{ExchangeCommerce, []string{"refund"}}),
		publishes(UserCampaigns, "claims coupons for people, issues batches", commands("claim", "issue")),
		publishes(UserTill, "redeems coupons at the counter", commands("redeem_requested", "redeem", "release")),
		publishes(UserOperator, "couponctl: commands and facts by hand",
			TopicRight{ExchangeCommerce, []string{"order", "payment", "refund"}},
			TopicRight{ExchangeCommands, []string{"coupon"}}),
		{
			User: UserListener, Purpose: "listens to events through queues of its own",
			Rights: Rights{
				Configure: []string{own(UserListener)},
				Write:     []string{own(UserListener)},
				Read:      []string{own(UserListener), regexp.QuoteMeta(ExchangeEvents)},
			},
		},
		{
			User: UserWorker, Purpose: "coupond with --topology=verify or off", Tags: []string{"management"},
			Rights: workerRights(),
		},
		{
			User: UserDeclarer, Purpose: "coupond with --topology=declare; couponctl topology apply",
			Tags: []string{"management"}, Rights: workerRights().and(declaringRights(DefaultLayout(Options{}))),
		},
	}
}

// publishes is a role that sends messages of certain types and takes answers.
func publishes(user, purpose string, topics ...TopicRight) Role {
	role := Role{User: user, Purpose: purpose, Topics: topics, Rights: Rights{Read: []string{ownReplies(user)}}}
	for _, topic := range topics {
		role.Rights.Write = append(role.Rights.Write, regexp.QuoteMeta(topic.Exchange))
	}
	return role
}

func commands(verbs ...string) TopicRight {
	right := TopicRight{Exchange: ExchangeCommands}
	for _, verb := range verbs {
		right.Subjects = append(right.Subjects, "coupon."+verb)
	}
	return right
}

// ReplyPrefix is what the names of queues for answers begin with.
const ReplyPrefix = "reply."

// ownReplies matches the queues for a user's answers.
func ownReplies(user string) string { return regexp.QuoteMeta(ReplyPrefix+user) + `(\..*)?` }

// own matches the names that belong to a user.
func own(user string) string { return regexp.QuoteMeta(user+".") + ".*" }

// workerRights are those of a process that handles messages.
func workerRights() Rights {
	r := Rights{Write: []string{
		// Answers go to queues of others by name.
		regexp.QuoteMeta(defaultExchange),
		regexp.QuoteMeta(ExchangeEvents), regexp.QuoteMeta(ExchangeDead), regexp.QuoteMeta(ExchangeDelivery), levelNames,
	}}
	for _, queue := range append(WorkQueues(), QueueDead) {
		r.Read = append(r.Read, regexp.QuoteMeta(queue))
	}
	return r
}

// levelNames matches the exchange and the queue of every delay level.
var levelNames = regexp.QuoteMeta(delayLevelPrefix) + `\d\d`

// declaringRights are what the broker asks for to create a layout: to bind, write
// to the destination and read from the source; for a queue with a dead-letter
// exchange, read from the queue and write to that exchange; for an exchange with
// an alternate one likewise.
func declaringRights(layout Layout) Rights {
	var r Rights
	spill := func(name string, args map[string]any, argument string) {
		if target, ok := args[argument].(string); ok {
			r.Read = append(r.Read, pattern(name))
			r.Write = append(r.Write, pattern(target))
		}
	}
	for _, ex := range layout.Exchanges {
		r.Configure = append(r.Configure, pattern(ex.Name))
		spill(ex.Name, ex.Args, "alternate-exchange")
	}
	for _, q := range layout.Queues {
		r.Configure = append(r.Configure, pattern(q.Name))
		spill(q.Name, q.Args, "x-dead-letter-exchange")
	}
	for _, b := range layout.Bindings {
		r.Read = append(r.Read, pattern(b.Source))
		r.Write = append(r.Write, pattern(b.Destination))
	}
	return r
}

// pattern matches one name of the layout; all delay levels share one.
func pattern(name string) string {
	if strings.HasPrefix(name, delayLevelPrefix) {
		return levelNames
	}
	return regexp.QuoteMeta(name)
}

func (r Rights) and(other Rights) Rights {
	return Rights{
		Configure: slices.Concat(r.Configure, other.Configure),
		Write:     slices.Concat(r.Write, other.Write),
		Read:      slices.Concat(r.Read, other.Read),
	}
}

// nothing matches no name that exists.
const nothing = "^$"

// anyOf is the regular expression that the broker gets: one of the patterns, and
// the whole name.
func anyOf(patterns []string) string {
	if len(patterns) == 0 {
		return nothing
	}
	distinct := slices.Clone(patterns)
	slices.Sort(distinct)
	return "^(" + strings.Join(slices.Compact(distinct), "|") + ")$"
}

// subjects is the regular expression for routing keys that begin with one of the
// subjects and go on behind a dot.
func (t TopicRight) subjects() string {
	quoted := make([]string, len(t.Subjects))
	for i, subject := range t.Subjects {
		quoted[i] = regexp.QuoteMeta(subject)
	}
	return fmt.Sprintf(`^(%s)\.`, strings.Join(quoted, "|"))
}
