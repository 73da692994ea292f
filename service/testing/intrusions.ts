import { LOGINS, type Login } from './compose-install.ts'

/** Rows that an intruder would like to change. */
export interface Targets {
  readonly account_id: string
  readonly delivered_order_id: string
  readonly paid_order_id: string
  readonly revoked_key_id: string
}

/** What whoever holds the login of a process tries. Everything is refused, but that the owner of the tables owns them. */
export const INTRUSIONS: Readonly<Record<string, (login: Login, targets: Targets) => string>> = {
  'insert a transfer': (_, { account_id }) =>
    `insert into transfers (account_id, seq, kind, change_cents, balance_after_cents, reference, created_at)
     values ('${account_id}', 999, 'funding', 500000, 500000, 'minted', now())`,
  'raise a balance': (_, { account_id }) =>
    `update balances set balance_cents = balance_cents + 500000 where account_id = '${account_id}'`,
  'call the function that moves money': (_, { account_id }) =>
    `select move_balance('${account_id}', 'funding', 500000, null, 'minted', null, now())`,
  'refund an order that is not cancelled': (_, { account_id, paid_order_id }) =>
    `select refund_order('${account_id}', '${paid_order_id}', now())`,
  'refund a delivered order': (_, { account_id, delivered_order_id }) =>
    `select refund_order('${account_id}', '${delivered_order_id}', now())`,
  'make a delivered order a cancelled one': (_, { delivered_order_id }) =>
    `update orders set status = 'cancelled', delivered_at = null, cancelled_at = now(), cancel_reason = 'x' where id = '${delivered_order_id}'`,
  'revive a revoked key': (_, { revoked_key_id }) =>
    `update api_keys set revoked_at = null where id = '${revoked_key_id}'`,
  'set an access version back': (_, { account_id }) =>
    `update accounts set access_version = access_version - 1 where id = '${account_id}'`,
  'forget a change of access': (_, { account_id }) =>
    `delete from access_changes where account_id = '${account_id}'`,
  'write an audit row as somebody else': (login, { account_id }) =>
    `select write_audit_row('${login === 'operator' ? 'person:per_1' : 'operator:boss@example.com'}', 'account.fund', '${account_id}',
                            '${account_id}', null, null, '{}')`,
  'write an audit row as a person who is not signed in': (_, { account_id }) =>
    `select write_audit_row('person:per_forged', 'links.reveal', '${account_id}', '${account_id}', null, null, '{}')`,
  'put an audit row into the past': (login) =>
    `insert into audit_log (id, at, actor, action, target, details)
     values ('aud_x', now() - interval '90 days', '${login}:x', 'account.fund', 'x', '{}')`,
  'become the owner of the tables': (login) =>
    login === 'owner' ? 'set role postgres' : 'set role shopwire_owner',
  'grant itself a role of the server': (login) => `grant pg_execute_server_program to ${LOGINS[login]}`,
  'make a role': () => 'create role intruder superuser',
  'run a program on the server': () => `copy (select 1) to program 'true'`,
  'read a file of the server': () => `select pg_read_file('/etc/passwd')`,
}

/** What must not be read by a process that does not work with it. */
export const SECRET_COLUMNS = [
  'api_keys.secret_sealed',
  'authenticator_apps.secret_sealed',
  'credentials.password_hash',
  'events.body_sealed',
  'invitations.token_hash',
  'one_time_values.value',
  'operator_tokens.token_hash',
  'order_links.link_sealed',
  'outgoing_mail.body_sealed',
  'own_keys.key_sealed',
  'personal_tokens.token_hash',
  'pool_links.link_sealed',
  'sessions.token_hash',
  'suppliers.secret_sealed',
  'webhook_secrets.secret_sealed',
] as const
