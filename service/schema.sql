-- The schema after all migrations, for reading. Made by "npm run generate"; do not edit.

CREATE FUNCTION public.admission_memory_check(OUT lost_at bigint, OUT purged_to bigint, OUT was_lost boolean) RETURNS record
    LANGUAGE plpgsql
    AS $$
begin
  select m.lost_at, m.purged_to, false into lost_at, purged_to, was_lost
    from admission_memory m
   where m.server_started_at = pg_postmaster_start_time();
  if found then
    return;
  end if;
  -- One second more than now: a nonce signed up to a second ahead of our clock is not witnessed.
  insert into admission_memory as m (server_started_at, lost_at, purged_to)
  values (pg_postmaster_start_time(), floor(extract(epoch from clock_timestamp()))::bigint + 1, 0)
      on conflict (only_row) do update
     set server_started_at = excluded.server_started_at, lost_at = excluded.lost_at
   where m.server_started_at <> excluded.server_started_at;
  select m.lost_at, m.purged_to, true into lost_at, purged_to, was_lost from admission_memory m;
end
$$;

CREATE FUNCTION public.admit(p_account_id text, p_key_id text, p_nonce text, p_signed_at bigint, p_standing bigint, p_is_order boolean, p_requests_max integer, p_orders_max integer, OUT verdict text, OUT requests_used integer, OUT requests_oldest_ms integer, OUT orders_used integer, OUT orders_oldest_ms integer, OUT wait_ms integer) RETURNS record
    LANGUAGE plpgsql
    AS $$
declare
  c_window_ms constant bigint := 60000;
  c_usable_s constant bigint := 120;
  now_us bigint;
  now_ms bigint;
  now_s bigint;
  memory record;
  w record;
  requests_wait bigint := 0;
  orders_wait bigint := 0;
begin
  perform from accounts where id = p_account_id and standing = p_standing;
  if not found then
    verdict := 'changed';
    return;
  end if;

  select * into memory from admission_memory_check();
  now_us := floor(extract(epoch from clock_timestamp()) * 1000000);
  now_s := now_us / 1000000;
  if now_s <= memory.lost_at then
    verdict := 'warming';
    return;
  end if;
  if p_signed_at <= greatest(memory.lost_at, memory.purged_to) then
    verdict := 'forgotten';
    return;
  end if;

  insert into spent_nonces (account_id, key_id, nonce, signed_at)
  values (p_account_id, p_key_id, p_nonce, p_signed_at)
      on conflict do nothing;
  if found and (p_signed_at > now_s + 1 or now_s <= memory.lost_at + c_usable_s) then
    insert into witnessed_nonces (account_id, key_id, nonce, signed_at)
    values (p_account_id, p_key_id, p_nonce, p_signed_at)
        on conflict do nothing;
  end if;
  if not found then
    verdict := 'replayed';
    return;
  end if;

  select requests, orders into w from admission_windows where account_id = p_account_id for update;
  if not found then
    insert into admission_windows (account_id) values (p_account_id) on conflict do nothing;
    select requests, orders into w from admission_windows where account_id = p_account_id for update;
  end if;

  -- Read after the lock is held: a copy that waited must not count with an old time. Admissions are stamped a shade late and
  -- judged a shade early, so that no window of 60 s ever holds one too many.
  now_us := floor(extract(epoch from clock_timestamp()) * 1000000);
  now_ms := now_us / 1000;
  -- A clock that stepped back leaves stamps in the future; they count as made now.
  if w.requests[cardinality(w.requests)] > now_ms + 1 then
    w.requests := array(select least(t, now_ms) from unnest(w.requests) t);
    w.orders := array(select least(t, now_ms) from unnest(w.orders) t);
  end if;
  -- Stamps that left the window are dropped from the front; they are in order.
  while w.requests[1] <= now_ms - c_window_ms loop
    w.requests := w.requests[2:];
  end loop;
  while w.orders[1] <= now_ms - c_window_ms loop
    w.orders := w.orders[2:];
  end loop;
  if cardinality(w.requests) >= p_requests_max then
    requests_wait := w.requests[cardinality(w.requests) - p_requests_max + 1] + c_window_ms - now_ms;
  end if;
  if p_is_order and cardinality(w.orders) >= p_orders_max then
    orders_wait := w.orders[cardinality(w.orders) - p_orders_max + 1] + c_window_ms - now_ms;
  end if;

  wait_ms := greatest(requests_wait, orders_wait);
  if wait_ms > 0 then
    verdict := 'limited';
  else
    verdict := 'admitted';
    w.requests := w.requests || now_ms + 1;
    if p_is_order then
      w.orders := w.orders || now_ms + 1;
    end if;
    update admission_windows set requests = w.requests, orders = w.orders where account_id = p_account_id;
  end if;
  requests_used := cardinality(w.requests);
  orders_used := cardinality(w.orders);
  requests_oldest_ms := coalesce(w.requests[1] + c_window_ms - now_ms, 0);
  orders_oldest_ms := coalesce(w.orders[1] + c_window_ms - now_ms, 0);
end
$$;

CREATE FUNCTION public.purge_nonces(p_signed_to bigint) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
declare
  purged bigint;
begin
  if not pg_try_advisory_xact_lock(5348094773) then
    return 0;
  end if;
  update admission_memory set purged_to = p_signed_to where purged_to < p_signed_to;
  delete from spent_nonces where signed_at <= p_signed_to;
  get diagnostics purged = row_count;
  delete from witnessed_nonces where signed_at <= p_signed_to;
  return purged;
end
$$;

CREATE TABLE public.accounts (
    id text NOT NULL,
    name text NOT NULL,
    status text DEFAULT 'active'::text NOT NULL,
    standing bigint DEFAULT 1 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT accounts_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 100))),
    CONSTRAINT accounts_status_check CHECK ((status = ANY (ARRAY['active'::text, 'suspended'::text])))
);

CREATE UNLOGGED TABLE public.admission_memory (
    only_row boolean DEFAULT true NOT NULL,
    server_started_at timestamp with time zone NOT NULL,
    lost_at bigint NOT NULL,
    purged_to bigint NOT NULL,
    CONSTRAINT admission_memory_only_row_check CHECK (only_row)
);

CREATE UNLOGGED TABLE public.admission_windows (
    account_id text NOT NULL,
    requests bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    orders bigint[] DEFAULT '{}'::bigint[] NOT NULL
)
WITH (fillfactor='40');

CREATE TABLE public.api_keys (
    account_id text NOT NULL,
    id text NOT NULL,
    name text NOT NULL,
    scopes text[] NOT NULL,
    secret_sealed bytea NOT NULL,
    secret_kek_id text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    CONSTRAINT api_keys_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 100))),
    CONSTRAINT api_keys_scopes_check CHECK (((cardinality(scopes) > 0) AND (scopes <@ ARRAY['account:read'::text, 'catalogue:read'::text, 'orders:read'::text, 'orders:write'::text, 'webhooks:read'::text, 'webhooks:write'::text])))
);

CREATE TABLE public.audit_log (
    id text NOT NULL,
    at timestamp with time zone NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    target text NOT NULL,
    details jsonb NOT NULL
);

CREATE TABLE public.balances (
    account_id text NOT NULL,
    balance_cents bigint DEFAULT 0 NOT NULL,
    transfer_count bigint DEFAULT 0 NOT NULL,
    CONSTRAINT balances_balance_cents_check CHECK ((balance_cents >= 0)),
    CONSTRAINT balances_transfer_count_check CHECK ((transfer_count >= 0))
);

CREATE TABLE public.schema_migrations (
    number integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE UNLOGGED TABLE public.spent_nonces (
    account_id text NOT NULL,
    key_id text NOT NULL,
    nonce text NOT NULL,
    signed_at bigint NOT NULL
);

CREATE TABLE public.store_state (
    only_row boolean DEFAULT true NOT NULL,
    is_open boolean NOT NULL,
    reason text,
    changed_at timestamp with time zone NOT NULL,
    CONSTRAINT store_state_only_row_check CHECK (only_row),
    CONSTRAINT store_state_reason_check CHECK ((char_length(reason) <= 200))
);

CREATE TABLE public.transfers (
    account_id text NOT NULL,
    seq bigint NOT NULL,
    id text NOT NULL,
    kind text NOT NULL,
    debit text NOT NULL,
    credit text NOT NULL,
    amount_cents bigint NOT NULL,
    balance_after_cents bigint NOT NULL,
    order_id text,
    reference text,
    note text,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT transfers_amount_cents_check CHECK ((amount_cents >= 0)),
    CONSTRAINT transfers_balance_after_cents_check CHECK ((balance_after_cents >= 0)),
    CONSTRAINT transfers_check CHECK (((debit <> credit) AND (('customer'::text = debit) OR ('customer'::text = credit)))),
    CONSTRAINT transfers_check1 CHECK (((kind = ANY (ARRAY['order'::text, 'refund'::text])) = (order_id IS NOT NULL))),
    CONSTRAINT transfers_check2 CHECK (
CASE kind
    WHEN 'funding'::text THEN (debit = 'house:cash'::text)
    WHEN 'adjustment'::text THEN (('house:adjustments'::text = debit) OR ('house:adjustments'::text = credit))
    WHEN 'order'::text THEN (credit = 'house:sales'::text)
    WHEN 'refund'::text THEN (debit = 'house:sales'::text)
    ELSE NULL::boolean
END),
    CONSTRAINT transfers_credit_check CHECK ((credit = ANY (ARRAY['customer'::text, 'house:cash'::text, 'house:sales'::text, 'house:adjustments'::text]))),
    CONSTRAINT transfers_debit_check CHECK ((debit = ANY (ARRAY['customer'::text, 'house:cash'::text, 'house:sales'::text, 'house:adjustments'::text]))),
    CONSTRAINT transfers_kind_check CHECK ((kind = ANY (ARRAY['funding'::text, 'adjustment'::text, 'order'::text, 'refund'::text]))),
    CONSTRAINT transfers_note_check CHECK ((char_length(note) <= 500)),
    CONSTRAINT transfers_reference_check CHECK (((char_length(reference) >= 1) AND (char_length(reference) <= 200))),
    CONSTRAINT transfers_seq_check CHECK ((seq > 0))
);

CREATE TABLE public.witnessed_nonces (
    account_id text NOT NULL,
    key_id text NOT NULL,
    nonce text NOT NULL,
    signed_at bigint NOT NULL
);

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.admission_memory
    ADD CONSTRAINT admission_memory_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY public.admission_windows
    ADD CONSTRAINT admission_windows_pkey PRIMARY KEY (account_id);

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (account_id, id);

ALTER TABLE ONLY public.audit_log
    ADD CONSTRAINT audit_log_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.balances
    ADD CONSTRAINT balances_pkey PRIMARY KEY (account_id);

ALTER TABLE ONLY public.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (number);

ALTER TABLE ONLY public.spent_nonces
    ADD CONSTRAINT spent_nonces_pkey PRIMARY KEY (account_id, key_id, nonce);

ALTER TABLE ONLY public.store_state
    ADD CONSTRAINT store_state_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY public.transfers
    ADD CONSTRAINT transfers_pkey PRIMARY KEY (account_id, seq);

ALTER TABLE ONLY public.witnessed_nonces
    ADD CONSTRAINT witnessed_nonces_pkey PRIMARY KEY (account_id, key_id, nonce);

CREATE INDEX api_keys_id ON public.api_keys USING btree (id);

CREATE INDEX api_keys_kek ON public.api_keys USING btree (secret_kek_id);

CREATE INDEX audit_log_target ON public.audit_log USING btree (target, id);

CREATE INDEX spent_nonces_signed_at ON public.spent_nonces USING btree (signed_at);

CREATE UNIQUE INDEX transfers_order_once ON public.transfers USING btree (account_id, order_id, kind) WHERE (order_id IS NOT NULL);

CREATE UNIQUE INDEX transfers_reference_once ON public.transfers USING btree (account_id, kind, reference) WHERE (reference IS NOT NULL);

CREATE INDEX witnessed_nonces_signed_at ON public.witnessed_nonces USING btree (signed_at);

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);

ALTER TABLE ONLY public.balances
    ADD CONSTRAINT balances_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);

ALTER TABLE ONLY public.transfers
    ADD CONSTRAINT transfers_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.accounts(id);

GRANT USAGE ON SCHEMA public TO shopwire_app;

REVOKE ALL ON FUNCTION public.admission_memory_check(OUT lost_at bigint, OUT purged_to bigint, OUT was_lost boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION public.admission_memory_check(OUT lost_at bigint, OUT purged_to bigint, OUT was_lost boolean) TO shopwire_app;

REVOKE ALL ON FUNCTION public.admit(p_account_id text, p_key_id text, p_nonce text, p_signed_at bigint, p_standing bigint, p_is_order boolean, p_requests_max integer, p_orders_max integer, OUT verdict text, OUT requests_used integer, OUT requests_oldest_ms integer, OUT orders_used integer, OUT orders_oldest_ms integer, OUT wait_ms integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.admit(p_account_id text, p_key_id text, p_nonce text, p_signed_at bigint, p_standing bigint, p_is_order boolean, p_requests_max integer, p_orders_max integer, OUT verdict text, OUT requests_used integer, OUT requests_oldest_ms integer, OUT orders_used integer, OUT orders_oldest_ms integer, OUT wait_ms integer) TO shopwire_app;

REVOKE ALL ON FUNCTION public.purge_nonces(p_signed_to bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION public.purge_nonces(p_signed_to bigint) TO shopwire_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.accounts TO shopwire_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.admission_memory TO shopwire_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.admission_windows TO shopwire_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.api_keys TO shopwire_app;

GRANT SELECT,INSERT ON TABLE public.audit_log TO shopwire_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.balances TO shopwire_app;

GRANT SELECT ON TABLE public.schema_migrations TO shopwire_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.spent_nonces TO shopwire_app;

GRANT SELECT,UPDATE ON TABLE public.store_state TO shopwire_app;

GRANT SELECT,INSERT ON TABLE public.transfers TO shopwire_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.witnessed_nonces TO shopwire_app;
