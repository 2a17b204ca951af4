-- +goose Up

-- How things stood when the case was opened.
alter table review_case add column evidence jsonb not null default '{}';

-- +goose Down
alter table review_case drop column evidence;
