// Package client lets a service of the shop tell Couponlease what happened, and
// ask it for changes.
//
// [Client.Publish] hands a fact to the broker and returns once the broker has
// confirmed it. [Client.Lock], [Client.Redeem] and the other commands ask for one
// change and wait for the answer.
//
// # What is not known
//
// A call ends with an [*Error] when no answer came: the deadline passed, or the
// client was closed. If the message was sent by then, it is not known whether it
// was carried out. Call again with the Key of the error, as message id, as
// idempotency key or as request id, and the same content: what was done is not
// done twice, and the first answer comes again. The client does so itself when it
// loses the connection, and for a command whose answer is late ([Options].AskAgain),
// for as long as the call has time.
//
// # Refusals
//
// That a coupon is taken or a token is wrong is an answer, not a failure to get
// one: the reply says so in its Outcome and the error is nil. Ask the reply with
// [messages.CommandReply.Accepted], or turn a refusal into an error with
// [messages.CommandReply.Err]:
//
//	reply, err := shop.Lock(ctx, messages.LockCoupon{Code: code, OrderID: quote})
//	if err == nil {
//		err = reply.Err()
//	}
//
// # Tokens
//
// The answer to [Client.Lock] and [Client.RequestRedemption] has the lease's
// token, the only thing that proves who owns the lease. It comes over the client's
// own connection and shows in no error and in no printed or logged message.
package client
