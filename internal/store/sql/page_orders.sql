-- Rows that were only admitted, so that they could be locked, are not orders yet.
select order_id, coalesce(parent_id, ''), coalesce(children, '{}'), coalesce(supersedes_id, ''),
       coalesce(superseded_by_id, ''), coalesce(placed, false), placed_at, coalesce(revision, 0),
       coalesce(customer_id, ''), coalesce(payable, 0), coalesce(currency, ''),
       coalesce(payments, '[]'), coalesce(closes, '[]'), coalesce(reviews, '{}')
from order_fact
where order_id > $1 and placed is not null
order by order_id
limit $2
