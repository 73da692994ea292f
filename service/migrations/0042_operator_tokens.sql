-- compatible-with: 41
-- Operator tokens: who acts when shopwire-admin changes something. A table of its own, without a reference to people: it has to work on the
-- day on which those tables are damaged.
create table operator_tokens (
  id text collate "C" primary key,
  email text not null check (char_length(email) between 3 and 254),
  -- SHA-256 of the token. It has 256 random bits, so a slow hash would add nothing.
  token_hash bytea not null check (octet_length(token_hash) = 32),
  -- The actor of the audit log who added it.
  added_by text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  revoked_at timestamptz,
  check (expires_at > created_at and expires_at <= created_at + interval '366 days')
);

create unique index operator_tokens_hash on operator_tokens (token_hash);

-- A token is never renewed or given to somebody else, and one that was revoked stays revoked: the grants leave only the revocation.
grant select, insert, update (revoked_at) on operator_tokens to shopwire_app, shopwire_operator_rights;
grant select (id, email, added_by, created_at, expires_at, revoked_at) on operator_tokens to shopwire_readonly_rights;
