// Package console is the operator's API: what a person may ask of the product,
// as functions with typed results. couponctl prints the results as text or JSON;
// a page would call the same functions and show the same values.
//
// Nothing here decides about coupons. Whatever changes one goes through the
// engine, and whatever is shown was read from the store or the broker.
package console
