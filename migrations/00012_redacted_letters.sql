-- +goose Up

-- Whether a lease token was blanked in the body. What is kept is another message than
-- the sender's then, and is not sent again. Of letters that were filed before, the mark
-- in the body tells.
alter table dead_letter add column redacted boolean not null default false;
update dead_letter set redacted = true where position(convert_to('[redacted]', 'UTF8') in body) > 0;

-- +goose Down
alter table dead_letter drop column redacted;
