-- compatible-with: 24
-- When each key got its first quote, for the first steps on the home page. Null for keys that got one before this was recorded.
alter table key_last_uses add column first_quote_at timestamptz;
