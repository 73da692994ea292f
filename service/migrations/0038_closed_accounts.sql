-- compatible-with: 37
-- An account can be closed for good, and the personal data in it erased; see docs/decisions/0036. A closed account is suspended too, which
-- is all that programs of the release before have to know.

alter table accounts
  -- Final: functions/access/stay_closed.sql.
  add column closed_at timestamptz,
  -- Ids of those who belonged to it then. Whoever belongs to no other account is erased with it.
  add column closed_people text[],
  add column erased_at timestamptz;

-- Closing an account ends the tokens of its people.
grant select, update (revoked_at) on personal_tokens to shopwire_app;
