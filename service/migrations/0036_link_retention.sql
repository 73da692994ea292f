-- compatible-with: 35
-- The links of delivered orders can be erased after a time (SHOPWIRE_LINK_RETENTION_DAYS); see docs/decisions/0036. The row stays, with the
-- fingerprint: it is still known which link was sold to whom, and no link is sold twice. Programs of the release before cannot read an
-- order whose links are erased; they never erase any, and neither does this release until it is told to.

alter table order_links
  -- Programs of before meet a null only after this release was told to erase.
  -- squawk-ignore ban-drop-not-null
  alter column link_sealed drop not null,
  -- squawk-ignore ban-drop-not-null
  alter column link_kek_id drop not null,
  -- Null: the link is still there.
  add column erased_at timestamptz,
  -- Checked for the rows of before by the next file.
  add constraint order_links_erased check ((link_sealed is null) = (erased_at is not null) and (link_kek_id is null) = (erased_at is not null))
    not valid;

grant update (erased_at) on order_links to shopwire_app;

-- Orders up to this time were looked at. One row; whoever erases locks it.
create table link_retention (
  only_row boolean primary key default true check (only_row),
  looked_to timestamptz not null
);

insert into link_retention (looked_to) values ('epoch');

grant select, update on link_retention to shopwire_app;

-- Orders that were looked at and kept their links: not delivered yet, or too recently.
create table links_kept_longer (
  account_id text not null references accounts (id),
  order_id text collate "C" not null,
  look_at timestamptz not null,
  primary key (account_id, order_id)
);

create index links_kept_longer_due on links_kept_longer (look_at);

alter table links_kept_longer enable row level security;
create policy all_accounts on links_kept_longer to shopwire_app using (true) with check (true);
grant select, insert, delete on links_kept_longer to shopwire_app;
