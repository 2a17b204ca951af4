package messages

// The full type of each message, for the Message interface.

// MessageType is the full type.
func (OrderPlaced) MessageType() string { return TypeOrderPlaced }

// MessageType is the full type.
func (PaymentSucceeded) MessageType() string { return TypePaymentSucceeded }

// MessageType is the full type.
func (OrderClosed) MessageType() string { return TypeOrderClosed }

// MessageType is the full type.
func (RefundApproved) MessageType() string { return TypeRefundApproved }

// MessageType is the full type.
func (LeaseExpired) MessageType() string { return TypeLeaseExpired }

// MessageType is the full type.
func (LockCoupon) MessageType() string { return TypeLockCoupon }

// MessageType is the full type.
func (RenewLease) MessageType() string { return TypeRenewLease }

// MessageType is the full type.
func (ReleaseLease) MessageType() string { return TypeReleaseLease }

// MessageType is the full type.
func (RedeemCoupon) MessageType() string { return TypeRedeemCoupon }

// MessageType is the full type.
func (RedeemRequested) MessageType() string { return TypeRedeemRequested }

// MessageType is the full type.
func (SwapCoupons) MessageType() string { return TypeSwapCoupons }

// MessageType is the full type.
func (ReturnCoupon) MessageType() string { return TypeReturnCoupon }

// MessageType is the full type.
func (VoidCoupon) MessageType() string { return TypeVoidCoupon }

// MessageType is the full type.
func (ReverseChange) MessageType() string { return TypeReverseChange }

// MessageType is the full type.
func (ClaimCoupon) MessageType() string { return TypeClaimCoupon }

// MessageType is the full type.
func (IssueCoupons) MessageType() string { return TypeIssueCoupons }

// MessageType is the full type.
func (CouponLocked) MessageType() string { return TypeCouponLocked }

// MessageType is the full type.
func (CouponLockRejected) MessageType() string { return TypeCouponLockRejected }

// MessageType is the full type.
func (CouponLeaseRenewed) MessageType() string { return TypeCouponLeaseRenewed }

// MessageType is the full type.
func (CouponRedeemed) MessageType() string { return TypeCouponRedeemed }

// MessageType is the full type.
func (CouponReleased) MessageType() string { return TypeCouponReleased }

// MessageType is the full type.
func (CouponExpired) MessageType() string { return TypeCouponExpired }

// MessageType is the full type.
func (CouponReturned) MessageType() string { return TypeCouponReturned }

// MessageType is the full type.
func (CouponRetired) MessageType() string { return TypeCouponRetired }

// MessageType is the full type.
func (CouponReturnDeclined) MessageType() string { return TypeCouponReturnDeclined }

// MessageType is the full type.
func (RefundCouponDecided) MessageType() string { return TypeRefundCouponDecided }

// MessageType is the full type.
func (CouponVoided) MessageType() string { return TypeCouponVoided }

// MessageType is the full type.
func (RedemptionReversed) MessageType() string { return TypeRedemptionReversed }

// MessageType is the full type.
func (CouponIssued) MessageType() string { return TypeCouponIssued }

// MessageType is the full type.
func (CouponClaimRejected) MessageType() string { return TypeCouponClaimRejected }

// MessageType is the full type.
func (CampaignSoldOut) MessageType() string { return TypeCampaignSoldOut }

// MessageType is the full type.
func (CouponConflictDetected) MessageType() string { return TypeCouponConflictDetected }

// MessageType is the full type.
func (ReviewOpened) MessageType() string { return TypeReviewOpened }

// MessageType is the full type.
func (ReviewResolved) MessageType() string { return TypeReviewResolved }

// MessageType is the full type.
func (CommandReply) MessageType() string { return TypeCommandReply }
