-- +goose Up

-- The timeline of an order has all commands that named it, not only those about several
-- coupons.
drop index coupon_command_order;
create index coupon_command_order on coupon_command (order_id) where order_id <> '';

-- +goose Down
drop index coupon_command_order;
create index coupon_command_order on coupon_command (order_id) where coupon_id = '';
