-- A link that could not be decrypted when it was to be sold: not sold, not counted in pool_left, kept for whoever finds out why.
alter table pool_links add column set_aside_at timestamptz;

grant update (set_aside_at) on pool_links to shopwire_app;
