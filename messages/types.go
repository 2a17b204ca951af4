package messages

// The type of each message, for the Message interface.

// MessageType is OrderPlaced's full type.
func (OrderPlaced) MessageType() string { return TypeOrderPlaced }

// MessageType is PaymentSucceeded's full type.
func (PaymentSucceeded) MessageType() string { return TypePaymentSucceeded }

// MessageType is OrderClosed's full type.
func (OrderClosed) MessageType() string { return TypeOrderClosed }

// MessageType is RefundApproved's full type.
func (RefundApproved) MessageType() string { return TypeRefundApproved }

// MessageType is LeaseExpired's full type.
func (LeaseExpired) MessageType() string { return TypeLeaseExpired }

// MessageType is CouponLocked's full type.
func (CouponLocked) MessageType() string { return TypeCouponLocked }

// MessageType is CouponLockRejected's full type.
func (CouponLockRejected) MessageType() string { return TypeCouponLockRejected }

// MessageType is CouponLeaseRenewed's full type.
func (CouponLeaseRenewed) MessageType() string { return TypeCouponLeaseRenewed }

// MessageType is CouponRedeemed's full type.
func (CouponRedeemed) MessageType() string { return TypeCouponRedeemed }

// MessageType is CouponReleased's full type.
func (CouponReleased) MessageType() string { return TypeCouponReleased }

// MessageType is CouponExpired's full type.
func (CouponExpired) MessageType() string { return TypeCouponExpired }

// MessageType is CouponReturned's full type.
func (CouponReturned) MessageType() string { return TypeCouponReturned }

// MessageType is CouponRetired's full type.
func (CouponRetired) MessageType() string { return TypeCouponRetired }

// MessageType is CouponReturnDeclined's full type.
func (CouponReturnDeclined) MessageType() string { return TypeCouponReturnDeclined }

// MessageType is RefundCouponDecided's full type.
func (RefundCouponDecided) MessageType() string { return TypeRefundCouponDecided }

// MessageType is CouponVoided's full type.
func (CouponVoided) MessageType() string { return TypeCouponVoided }

// MessageType is RedemptionReversed's full type.
func (RedemptionReversed) MessageType() string { return TypeRedemptionReversed }

// MessageType is CouponIssued's full type.
func (CouponIssued) MessageType() string { return TypeCouponIssued }

// MessageType is CouponClaimRejected's full type.
func (CouponClaimRejected) MessageType() string { return TypeCouponClaimRejected }

// MessageType is CouponConflictDetected's full type.
func (CouponConflictDetected) MessageType() string { return TypeCouponConflictDetected }

// MessageType is ReviewOpened's full type.
func (ReviewOpened) MessageType() string { return TypeReviewOpened }

// MessageType is ReviewResolved's full type.
func (ReviewResolved) MessageType() string { return TypeReviewResolved }
