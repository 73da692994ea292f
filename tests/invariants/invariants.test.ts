import {
  type Call,
  checkInvariants,
  Journal,
  type Receipt,
  readRules,
  violationsIn,
} from '@shopwire/test-kit/invariants'
import { runProgram } from '@shopwire/test-kit/systems'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BY_HAND, FROM_POOL, type SampleSystem, startSampleSystem } from './sample-system.ts'

/** A state that must not exist: how to make it, and what the checker has to report. */
interface Plant {
  readonly rule: string
  readonly wrong: string
  /** Statements, run as superuser. */
  readonly sql: string
  /** Asked before the statements run: the id the rule has to name. */
  readonly id: string
  /** Rules that this state cannot but break as well. */
  readonly also?: readonly string[]
}

interface JournalPlant {
  readonly rule: string
  readonly wrong: string
  /** Answers with the id the rule has to name. */
  change(calls: Call[]): string
  readonly also?: readonly string[]
}

/** What a receiver got or an account was shown, changed from what it should be. */
interface ReceiverPlant {
  readonly rule: string
  readonly wrong: string
  change(journal: Journal): unknown
  /** The id the rule has to name; the event by default. */
  readonly names?: string
}

const OPEN_MS_MAX = 180_000

const ACCOUNT = '(select min(id) from accounts)'
const DELIVERED = `(select min(id) from orders where status = 'delivered')`
const OWN_DELIVERED = `(select min(id) from orders where status = 'delivered' and account_id = ${ACCOUNT})`
const CANCELLED = `(select id from orders where status = 'cancelled')`
const PAID = `(select min(id) from orders where status = 'paid')`
const POOL_LINK = `(select min(item_id || '/' || id) from pool_links)`

const EVENT = `(select min(id) from events where account_id = ${ACCOUNT})`
const SECRET = 'whsec_planted'
const DONE = `state = 'delivered', done_at = now(), attempts = 2`

const REQUEST = `(select 'acme/' || ${PAID} || '-1')`
/** Requests for the first line of a paid order, in states that the lifecycle would not allow: supplier, round, stage, links, cost, end. */
const plantRequests = (...requests: string[]) =>
  `set local session_replication_role = replica; ${requests
    .map(
      (values) => `
        insert into supplier_requests (account_id, order_id, line, sku, qty, attempts, first_at, last_at,
                                       supplier, round, stage, links, cost_cents, ended_at)
        select account_id, id, 1, 'x', 1, 1, now(), now(), ${values} from orders where id = ${PAID}`,
    )
    .join(';')}`

const plants: readonly Plant[] = [
  {
    rule: 'M01',
    wrong: 'a balance that moved without a transfer',
    sql: `update balances set balance_cents = balance_cents + 1 where account_id = ${ACCOUNT}`,
    id: ACCOUNT,
    also: ['M12'],
  },
  {
    rule: 'M02',
    wrong: 'an account with a negative balance',
    sql: `alter table balances drop constraint balances_balance_cents_check;
          insert into accounts (id, name, created_at) values ('acct_owes', 'Owes', now());
          insert into balances (account_id, balance_cents) values ('acct_owes', -1)`,
    id: `'acct_owes'`,
    also: ['M01', 'M12'],
  },
  {
    rule: 'M02',
    wrong: 'an account whose balance was negative once',
    sql: `${dropChecks('transfers')};
          update transfers set balance_after_cents = -1 where account_id = ${ACCOUNT} and seq = 2`,
    id: `${ACCOUNT} || '/2'`,
    also: ['M03'],
  },
  {
    rule: 'M03',
    wrong: 'a statement that adds up wrongly in the middle',
    sql: `update transfers set balance_after_cents = balance_after_cents + 1 where account_id = ${ACCOUNT} and seq = 2`,
    id: `${ACCOUNT} || '/2'`,
  },
  {
    rule: 'M04',
    wrong: 'a key that bought twice',
    sql: `alter table orders drop constraint orders_account_id_idempotency_key_key;
          update orders set idempotency_key = 'the-same-key' where account_id = ${ACCOUNT}`,
    id: `(select min(id) from orders where account_id = ${ACCOUNT})`,
  },
  {
    rule: 'M05',
    wrong: 'an order that was paid with less than its total',
    sql: `${dropTriggers('orders')}; update orders set total_cents = total_cents + 1 where id = ${DELIVERED}`,
    id: DELIVERED,
    also: ['M08'],
  },
  {
    rule: 'M05',
    wrong: 'an order that was paid twice',
    sql: `drop index transfers_order_once; ${zeroTransfer('order', OWN_DELIVERED)}`,
    id: OWN_DELIVERED,
  },
  {
    rule: 'M06',
    wrong: 'a payment for an order that does not exist',
    sql: zeroTransfer('order', `'ord_none'`),
    id: `${ACCOUNT} || '/' || (select transfer_count + 1 from balances where account_id = ${ACCOUNT})`,
  },
  {
    rule: 'M07',
    wrong: 'a refund of an order that was delivered',
    sql: zeroTransfer('refund', OWN_DELIVERED),
    id: OWN_DELIVERED,
  },
  {
    rule: 'M07',
    wrong: 'a cancelled order that was not refunded',
    sql: `update transfers set kind = 'adjustment', order_id = null where kind = 'refund'`,
    id: CANCELLED,
  },
  {
    rule: 'M08',
    wrong: 'lines that do not add up to the total',
    sql: `update order_lines set unit_price_cents = unit_price_cents + 1 where order_id = ${DELIVERED} and line = 1`,
    id: DELIVERED,
  },
  {
    rule: 'M08',
    wrong: 'two lines of one item',
    sql: `update order_lines set item_id = '${FROM_POOL}' where order_id = ${CANCELLED}`,
    id: CANCELLED,
  },
  {
    rule: 'M09',
    wrong: 'a delivered order without the time of its delivery',
    sql: `${dropChecks('orders')}; ${dropTriggers('orders')};
          update orders set delivered_at = null where id = ${DELIVERED}`,
    id: DELIVERED,
  },
  {
    rule: 'M09',
    wrong: 'an order delivered before it was bought',
    sql: `${dropChecks('orders')}; ${dropTriggers('orders')};
          update orders set delivered_at = created_at - interval '1 s' where id = ${DELIVERED}`,
    id: DELIVERED,
  },
  {
    rule: 'M10',
    wrong: 'a delivered order that lacks a link',
    sql: `delete from order_links where order_id = ${DELIVERED} and unit = 1`,
    id: DELIVERED,
  },
  {
    rule: 'M10',
    wrong: 'a link for a unit that was not bought',
    sql: `update order_links set unit = 10 where order_id = ${DELIVERED} and unit = 1`,
    id: DELIVERED,
  },
  {
    rule: 'M10',
    wrong: 'a cancelled order that kept a link',
    sql: `insert into link_fingerprints (hash, seen_at) values ('kept', now());
          insert into order_links (account_id, order_id, line, unit, link_sealed, link_kek_id, link_hash, source, obtained_at)
          select account_id, id, 1, 1, 'sealed', 'proof', 'kept', 'hand', now() from orders where id = ${CANCELLED}`,
    id: CANCELLED,
  },
  {
    rule: 'M11',
    wrong: 'a link that was sold twice',
    sql: `alter table order_links drop constraint order_links_link_hash_key;
          update order_links set link_hash = (select link_hash from order_links where order_id = ${DELIVERED} and unit = 1)
           where order_id = ${DELIVERED}`,
    id: DELIVERED,
  },
  {
    rule: 'M12',
    wrong: 'money that belongs to no account',
    sql: `alter table balances drop constraint balances_account_id_fkey;
          insert into balances (account_id, balance_cents) values ('acct_none', 5)`,
    id: `'all accounts'`,
  },
  {
    rule: 'M13',
    wrong: 'a transfer that is gone from the count',
    sql: `update balances set transfer_count = transfer_count - 1 where account_id = ${ACCOUNT}`,
    id: ACCOUNT,
  },
  {
    rule: 'M13',
    wrong: 'a gap in the numbers of a statement',
    sql: `update transfers t set seq = seq + 1
            from balances b
           where b.account_id = t.account_id and t.seq = b.transfer_count and t.account_id = ${ACCOUNT}`,
    id: ACCOUNT,
  },
  {
    rule: 'M14',
    wrong: 'an order that is gone from the count',
    sql: `update balances set order_count = order_count - 1 where account_id = ${ACCOUNT}`,
    id: ACCOUNT,
  },
  {
    rule: 'M15',
    wrong: 'a pool that promises more than it has',
    sql: `update item_supply set pool_left = pool_left + 1 where item_id = '${FROM_POOL}'`,
    id: `'${FROM_POOL}'`,
  },
  {
    rule: 'M15',
    wrong: 'links in a pool that are not counted',
    sql: `delete from item_supply where item_id = '${FROM_POOL}'`,
    id: `'${FROM_POOL}'`,
  },
  {
    rule: 'M16',
    wrong: 'a sold link that is still in the pool',
    sql: `update pool_links
             set link_hash = (select link_hash from order_links where order_id = ${DELIVERED} and unit = 1)
           where id = (select min(id) from pool_links)`,
    id: DELIVERED,
  },
  {
    rule: 'M17',
    wrong: 'a link of which the store has no record',
    sql: `alter table order_links drop constraint order_links_link_hash_fkey;
          delete from link_fingerprints
           where hash = (select link_hash from order_links where order_id = ${DELIVERED} and unit = 1)`,
    id: DELIVERED,
  },
  {
    rule: 'M17',
    wrong: 'a link in a pool of which the store has no record',
    sql: `alter table pool_links drop constraint pool_links_link_hash_fkey;
          delete from link_fingerprints where hash = (select link_hash from pool_links order by id limit 1)`,
    id: POOL_LINK,
  },
  {
    rule: 'M18',
    wrong: 'a paid order without a job that delivers it',
    sql: `delete from jobs where subject = ${PAID}`,
    id: PAID,
  },
  {
    rule: 'M18',
    wrong: 'an order that a supplier may owe links for, and no job that collects them',
    sql: `alter table supplier_requests drop constraint supplier_requests_supplier_fkey;
          insert into supplier_requests (account_id, order_id, line, supplier, sku, qty, attempts, first_at, last_at)
          select account_id, id, 1, 'acme', 'x', 1, 1, now(), now() from orders where id = ${DELIVERED}`,
    id: DELIVERED,
  },
  {
    rule: 'M19',
    wrong: 'a job for an order that has ended',
    sql: `insert into jobs (account_id, queue, subject, run_at, created_at)
          select account_id, 'fulfil', id, 'infinity', now() from orders where id = ${DELIVERED}`,
    id: DELIVERED,
  },
  {
    rule: 'M20',
    wrong: 'an order at another time than its id says',
    sql: `update orders set created_at = created_at - interval '1 ms' where id = ${PAID}`,
    id: PAID,
  },
  {
    rule: 'M21',
    wrong: 'an item marked as unavailable without links, though it needs none',
    sql: `update items set has_supply = false where id = '${BY_HAND}'`,
    id: `'${BY_HAND}'`,
  },
  {
    rule: 'M21',
    wrong: 'an item that is sold from an empty pool',
    sql: `delete from pool_links; update item_supply set pool_left = 0`,
    id: `'${FROM_POOL}'`,
  },
  {
    rule: 'M22',
    wrong: 'an order of a caller that names no request',
    sql: `update orders set request_id = null where id = ${PAID}`,
    id: PAID,
  },
  {
    rule: 'M22',
    wrong: 'an answer that bought an order that is not there',
    sql: `insert into order_answers (order_id, account_id, is_sent) values ('ord_planted', ${ACCOUNT}, true)`,
    id: `'ord_planted'`,
  },
  {
    rule: 'M23',
    wrong: 'a top-up that counts as credited, and no money came in for it',
    sql: `alter table top_ups drop constraint top_ups_account_id_credited_seq_fkey; ${plantTopUp('999')}`,
    id: `'top_planted'`,
  },
  {
    rule: 'M24',
    wrong: 'a dispute that took money from a balance without a transfer',
    sql: `${plantTopUp(`(select seq from transfers where account_id = ${ACCOUNT} and kind = 'funding' limit 1)`)};
          ${dropTriggers('top_ups')};
          update top_ups set credited_cents = (select f.change_cents from transfers f where f.account_id = top_ups.account_id and f.seq = credited_seq);
          insert into top_up_reversals (account_id, id, top_up_id, kind, provider_reference, provider_status, is_settled, provider_cents,
                                          amount_cents, taken_cents, owed_cents, created_at)
          values (${ACCOUNT}, 'rev_planted', 'top_planted', 'dispute', 'du_planted', 'lost', true, 1, 1, 1, 0, now())`,
    id: ACCOUNT,
  },
  {
    rule: 'M25',
    wrong: 'a link of a request that nobody made',
    sql: `update link_fingerprints set made_by = 'acme/ord_none-1'
           where hash = (select link_hash from order_links where order_id = ${DELIVERED} and unit = 1)`,
    id: `'acme/ord_none-1'`,
  },
  {
    rule: 'M25',
    wrong: 'a request that brought a link which is nowhere',
    sql: plantRequests(`'acme', 1, 'fulfilled', 1, null, now()`),
    id: REQUEST,
  },
  {
    rule: 'M26',
    wrong: 'a cost without a request',
    sql: `alter table supplier_transfers drop constraint supplier_transfers_supplier_fkey;
          insert into supplier_transfers (supplier, kind, reference, amount_cents, booked_at)
          values ('acme', 'cost', 'ord_none-1', 5, now())`,
    id: `'acme/ord_none-1'`,
  },
  {
    rule: 'M26',
    wrong: 'a request that brought links, and its cost is not booked',
    sql: plantRequests(`'acme', 1, 'fulfilled', 1, 5, now()`),
    id: REQUEST,
    also: ['M25'],
  },
  {
    rule: 'M27',
    wrong: 'a line with open requests at two suppliers',
    sql: plantRequests(`'acme', 1, 'accepted', null, null, null`, `'other', 2, 'unknown', null, null, null`),
    id: PAID,
  },
  {
    rule: 'M27',
    wrong: 'a line that was bought from two suppliers',
    sql: plantRequests(
      ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11].map((n) => `'acme-${n}', ${n}, 'fulfilled', 1, null, now()`),
    ),
    id: PAID,
    also: ['M25'],
  },
  {
    rule: 'M28',
    wrong: 'a refused request that counts as open',
    sql: plantRequests(`'acme', 1, 'refused', null, null, null`),
    id: REQUEST,
  },
  {
    rule: 'M29',
    wrong: 'a link that another order had got in a time that a restore lost',
    sql: `insert into lost_links (hash, account_id, order_id, sold_at, found_at)
          select link_hash, account_id, 'ord_none', now(), now() from order_links where order_id = ${DELIVERED} and unit = 1`,
    id: DELIVERED,
  },
  {
    rule: 'M30',
    wrong: 'a unit that counts as sold and not assigned, and no order has it',
    sql: `insert into unassigned_units (item_id, slot, units) values ('${FROM_POOL}', 0, 1)`,
    id: `'${FROM_POOL}'`,
  },
  {
    rule: 'M30',
    wrong: 'an order that waits for links which nobody counted',
    sql: `delete from unassigned_units where item_id = '${BY_HAND}'`,
    id: `'${BY_HAND}'`,
  },
  {
    rule: 'W01',
    wrong: 'a delivered order without an event',
    sql: `delete from events where type = 'order.delivered' and order_id = ${DELIVERED}`,
    id: DELIVERED,
  },
  {
    rule: 'W01',
    wrong: 'a cancelled event of an order that was not cancelled',
    sql: `insert into events (account_id, id, type, order_id, created_at)
          select account_id, 'evt_planted', 'order.cancelled', id, now() from orders where id = ${DELIVERED}`,
    id: DELIVERED,
  },
  {
    rule: 'W01',
    wrong: 'an event of an order that does not exist',
    sql: `alter table events drop constraint events_account_id_order_id_fkey;
          insert into events (account_id, id, type, order_id, created_at)
          values (${ACCOUNT}, 'evt_planted', 'order.accepted', 'ord_none', now())`,
    id: `'ord_none'`,
  },
  {
    rule: 'W02',
    wrong: 'an endpoint without a delivery of the event',
    sql: `insert into webhook_endpoints (account_id, id, url, set_by, created_at)
          values (${ACCOUNT}, 'whe_planted', 'https://hook.example/', 'key', now() - interval '1 day');
          insert into deliveries (account_id, endpoint_id, event_id, created_at, next_at, state, done_at)
          select account_id, 'whe_planted', id, now(), now(), 'delivered', now()
            from events where account_id = ${ACCOUNT} and id <> ${EVENT}`,
    id: EVENT,
  },
  {
    rule: 'W04',
    wrong: 'a delivery given up after three attempts',
    sql: `${endpoint()}; ${delivery(`state = 'failed', attempts = 3, done_at = now(), created_at = now() - interval '1 hour'`)}`,
    id: EVENT,
  },
  {
    rule: 'W04',
    wrong: 'something still on its way to an endpoint that has ended',
    sql: `${endpoint(`ended_at = now()`)}; ${delivery()}`,
    id: EVENT,
  },
  {
    rule: 'W05',
    wrong: 'a second attempt after ten seconds',
    sql: `${endpoint()}; ${delivery(DONE)}; ${attempt(1, '-60 s', '93.184.216.34')}; ${attempt(2, '-50 s', '93.184.216.34')}`,
    id: EVENT,
  },
  {
    rule: 'W06',
    wrong: 'an attempt at an endpoint that had ended',
    sql: `${endpoint(`ended_at = now() - interval '1 minute'`)}; ${delivery(DONE)}; ${attempt(1, '0 s', '93.184.216.34')}`,
    id: EVENT,
  },
  ...['127.0.0.1', '10.0.0.8', '169.254.169.254', '::1', 'fd00:ec2::254', '64:ff9b::1', '2002:7f00:1::'].map(
    (address) => ({
      rule: 'W08',
      wrong: `a dial to ${address}`,
      sql: `${endpoint()}; ${delivery(DONE)}; ${attempt(1, '0 s', address)}`,
      id: EVENT,
    }),
  ),
  {
    rule: 'W09',
    wrong: 'a pending delivery without a job',
    sql: `${endpoint()}; ${delivery()}`,
    id: `'whe_planted'`,
  },
  {
    rule: 'W10',
    wrong: 'a mail without a job',
    sql: `insert into outgoing_mail (id, to_address, subject, body_sealed, body_kek_id)
          values ('mail_planted', 'ada@example.com', 'Hello', '', 'k1')`,
    id: `'mail_planted'`,
  },
  {
    rule: 'S02',
    wrong: 'a link stored unencrypted in its order',
    sql: `update order_links set link_sealed = 'v1 https://gift.example/open' where order_id = ${DELIVERED} and unit = 1`,
    id: `${DELIVERED} || '/1/1'`,
  },
  {
    rule: 'S02',
    wrong: 'a link stored unencrypted in its pool',
    sql: `update pool_links set link_sealed = 'v1 https://gift.example/open' where id = (select min(id) from pool_links)`,
    id: POOL_LINK,
  },
  {
    rule: 'S03',
    wrong: 'links erased before their order was delivered',
    sql: `update order_links k set link_sealed = null, link_kek_id = null, erased_at = o.delivered_at - interval '1 second'
            from orders o where o.id = k.order_id and o.id = ${DELIVERED}`,
    id: DELIVERED,
  },
]

const journalPlants: readonly JournalPlant[] = [
  {
    rule: 'A01',
    wrong: 'an answer with an order that does not exist',
    change(calls) {
      const call = boughtOnce(calls)
      call.order_id = 'ord_none'
      return String(call.seq)
    },
  },
  {
    rule: 'A02',
    wrong: 'two answers to one idempotency key that both say it is new',
    change(calls) {
      const again = one(calls, ({ replayed }) => replayed)
      Object.assign(again, { status: 201, replayed: false })
      return String(one(calls, ({ idempotency_key: key }) => key === again.idempotency_key).seq)
    },
  },
  {
    rule: 'A03',
    wrong: 'an order without a request',
    change(calls) {
      const call = boughtOnce(calls)
      calls.splice(calls.indexOf(call), 1)
      return String(call.order_id)
    },
  },
  {
    rule: 'A04',
    wrong: 'success for a key with another cart',
    change(calls) {
      const call = one(calls, ({ replayed }) => replayed)
      call.request_hash = '\\x00'
      return String(call.seq)
    },
  },
  {
    rule: 'A05',
    wrong: 'an order from a key that was only refused',
    change(calls) {
      const call = boughtOnce(calls)
      const { order_id } = call
      Object.assign(call, { status: 402, order_id: null })
      return String(order_id)
    },
    also: ['A03'],
  },
  {
    rule: 'A06',
    wrong: 'a nonce that was admitted twice',
    change(calls) {
      const call = one(calls, ({ path }) => path === '/v1/balance')
      add(calls, call)
      return String(call.seq)
    },
  },
  {
    rule: 'A06',
    wrong: 'a nonce that was admitted although it was refused with 429',
    change(calls) {
      const call = one(calls, ({ path }) => path === '/v1/balance')
      add(calls, { ...call, status: 429 })
      return String(call.seq)
    },
  },
  {
    rule: 'A07',
    wrong: 'links shown to a key that may not read orders',
    change(calls) {
      const { key_id } = one(calls, ({ status }) => status === 401)
      const call = one(calls, (other) => other.key_id === key_id)
      call.n_links = 1
      return String(call.seq)
    },
  },
  {
    rule: 'A08',
    wrong: 'success for a key after its revocation',
    change(calls) {
      const call = one(calls, ({ status }) => status === 401)
      // Times are whole milliseconds: in the one in which the command returned, the order is unknown.
      const sent_at = after(call.sent_at, 1)
      Object.assign(call, { method: 'GET', path: '/v1/ping', status: 200, sent_at })
      return String(call.seq)
    },
  },
  {
    rule: 'A09',
    wrong: 'an order shown to another account',
    change(calls) {
      const { account_id, order_id } = boughtOnce(calls)
      const stranger = one(calls, (call) => call.account_id !== account_id)
      return String(add(calls, { ...stranger, ...fresh(), path: `/v1/orders/${order_id}`, order_id }).seq)
    },
  },
  {
    rule: 'A10',
    wrong: 'a 121st request within a minute',
    change: (calls) => burst(calls, 121, { method: 'GET', path: '/v1/ping', status: 200 }),
  },
  {
    rule: 'A11',
    wrong: 'a 21st attempt to order within a minute',
    change: (calls) => burst(calls, 21, { method: 'POST', path: '/v1/orders', status: 409 }),
  },
  {
    rule: 'A12',
    wrong: 'a balance that the account never had',
    change(calls) {
      const call = one(calls, ({ path }) => path === '/v1/balance')
      call.balance_cents = Number(call.balance_cents) + 1
      return String(call.seq)
    },
  },
]

const receiverPlants: readonly ReceiverPlant[] = [
  {
    rule: 'W03',
    wrong: 'a delivery that no receiver got',
    change: ({ receipts }) => void receipts.splice(0),
  },
  {
    rule: 'W03',
    wrong: 'a delivery that was received somewhere else',
    change: ({ receipts: [got] }) => Object.assign(got ?? {}, { url: 'https://hook.example/other' }),
  },
  {
    rule: 'W03',
    wrong: 'a delivery that was answered with 500',
    change: ({ receipts: [got] }) => Object.assign(got ?? {}, { status: 500 }),
  },
  {
    rule: 'W03',
    wrong: 'a delivery that was never answered',
    change: ({ receipts: [got] }) => Object.assign(got ?? {}, { status: null }),
  },
  {
    rule: 'W07',
    wrong: 'a copy with other bytes',
    change: ({ receipts }) => receipts.push({ ...(receipts[0] as Receipt), body_hash: 'other' }),
  },
  {
    rule: 'W07',
    wrong: 'a copy without a valid signature',
    change: ({ receipts }) => receipts.push({ ...(receipts[0] as Receipt), is_genuine: false }),
  },
  {
    rule: 'W07',
    wrong: 'a copy signed 301 seconds before it came',
    change({ receipts }) {
      const [got] = receipts as [Receipt]
      receipts.push({ ...got, signed_at: after(got.received_at, -301_000) })
    },
  },
  {
    rule: 'S01',
    wrong: 'a webhook secret in a second answer',
    change: (journal) => answerWithSecret(journal, 'POST', '/v1/webhook', SECRET),
    names: ACCOUNT,
  },
  {
    rule: 'S01',
    wrong: 'a webhook secret in an answer that made no endpoint',
    change(journal) {
      journal.secrets.splice(0)
      return answerWithSecret(journal, 'GET', '/v1/webhook', SECRET)
    },
    names: ACCOUNT,
  },
  {
    rule: 'S01',
    wrong: 'more webhook secrets in answers than there were',
    change: (journal) => answerWithSecret(journal, 'POST', '/v1/webhook', `${SECRET}2`),
    names: ACCOUNT,
  },
]

let sample: SampleSystem
let clones = 0

beforeAll(async () => {
  sample = await startSampleSystem()
}, OPEN_MS_MAX)
afterAll(() => sample?.stop())

it('a shop with one of every kind of event violates no invariant', async () => {
  expect(await checkInvariants(sample.urlOf(), sample.journal)).toEqual([])
})

it('every invariant has a planted violation in this file', async () => {
  const rules = await readRules({ withJournal: true })
  const broken = new Set([...plants, ...journalPlants, ...receiverPlants].map(({ rule }) => rule))
  expect([...broken].sort()).toEqual(rules.map(({ id }) => id).sort())
})

describe('invariants on the database', () => {
  it.each(plants)('$rule catches $wrong', async ({ rule, sql, id, also = [] }) => {
    await inUndone(async (client) => {
      const { rows } = await client.query<{ id: string }>(`select ${id} as id`)
      await client.query(sql)
      // What a commit would check as well.
      await client.query('set constraints all immediate')
      const found = await violationsIn(client)
      expect(found.map((violation) => violation.rule).sort()).toEqual([rule, ...also].sort())
      expect(found.find((violation) => violation.rule === rule)?.ids).toContain(rows[0]?.id)
    })
  })
})

describe('invariants on answers that callers received', () => {
  it.each(journalPlants)('$rule catches $wrong', async ({ rule, change, also = [] }) => {
    const journal = copyOf(sample.journal)
    const id = change(journal.calls)
    const found = await checkInvariants(sample.urlOf(), journal)
    expect(found.map((violation) => violation.rule).sort()).toEqual([rule, ...also].sort())
    expect(found.find((violation) => violation.rule === rule)?.ids).toEqual([id])
  })

  it('a revocation that is not in the journal counts after ten seconds', async () => {
    const journal = copyOf(sample.journal)
    const [revoked] = journal.revocations.splice(0)
    const call = one(journal.calls, ({ status }) => status === 401)
    const succeed = (ms: number) => {
      const at = after(revoked?.returned_at as Date, ms)
      Object.assign(call, { method: 'GET', path: '/v1/ping', status: 200, sent_at: at, received_at: at })
      return checkInvariants(sample.urlOf(), journal)
    }
    expect(await succeed(1)).toEqual([])
    expect(await succeed(10_001)).toMatchObject([{ rule: 'A08', ids: [String(call.seq)] }])
  })

  it('a limit that is used up and not exceeded is no violation, even when an answer was slow', async () => {
    const journal = copyOf(sample.journal)
    burst(journal.calls, 120, { method: 'GET', path: '/v1/ping', status: 200 })
    const first = journal.calls.at(-120) as Call
    // Counted when it was sent and answered half a minute later; its place in the window is free again after a minute.
    first.received_at = after(first.sent_at, 30_000)
    add(journal.calls, {
      ...first,
      ...fresh(),
      sent_at: after(first.sent_at, 60_001),
      received_at: after(first.sent_at, 60_002),
    })
    expect(await checkInvariants(sample.urlOf(), journal)).toEqual([])
  })

  it('a raised limit applies from then on', async () => {
    const journal = new Journal({ requestsMax: 121 })
    journal.calls.push(...sample.journal.calls)
    burst(journal.calls, 121, { method: 'GET', path: '/v1/ping', status: 200 })
    expect(await checkInvariants(sample.urlOf(), journal)).toEqual([])
  })

  it('a balance read concurrently with an order may be the value before or after it', async () => {
    const journal = copyOf(sample.journal)
    const before = one(journal.calls, ({ path }) => path === '/v1/balance')
    const order = one(journal.calls, (call) => call.status === 201 && call.account_id === before.account_id)
    const beside = { sent_at: order.received_at as Date, received_at: order.received_at }
    add(journal.calls, { ...before, ...fresh(), ...beside })
    add(journal.calls, {
      ...before,
      ...fresh(),
      ...beside,
      balance_cents: Number(before.balance_cents) - 200,
    })
    expect(await checkInvariants(sample.urlOf(), journal)).toEqual([])
    const late = after(order.received_at as Date, 1)
    const stale = add(journal.calls, { ...before, ...fresh(), sent_at: late, received_at: late })
    expect(await checkInvariants(sample.urlOf(), journal)).toMatchObject([
      { rule: 'A12', ids: [String(stale.seq)] },
    ])
  })
})

describe('invariants on events that receivers got', () => {
  it('an event received twice and a rotated secret are no violation', async () => {
    await withReceiver(async (url, journal) => {
      journal.receipts.push({ ...(journal.receipts[0] as Receipt), status: 500 })
      expect(await checkInvariants(url, journal)).toEqual([])
    })
  })

  it.each(receiverPlants)('$rule catches $wrong', async ({ rule, change, names = EVENT }) => {
    await withReceiver(async (url, journal, client) => {
      const { rows } = await client.query<{ id: string }>(`select ${names} as id`)
      change(journal)
      expect(await checkInvariants(url, journal)).toMatchObject([{ rule, ids: [rows[0]?.id] }])
    })
  })
})

describe('shopwire-admin verify', () => {
  const verify = async (url: string, ...args: string[]) => {
    const settings = { ...sample.operatorSettings, SHOPWIRE_DATABASE_URL: url }
    const { code, stdout, stderr } = await runProgram('admin', ['verify', ...args], settings)
    if (code !== 0) throw new Error(`ended with ${code}:\n${stderr}${stdout}`)
    return stdout
  }

  it('exits with 0 and reports that every invariant holds, with the login of operators', async () => {
    const printed = JSON.parse(await verify(sample.operatorSettings.SHOPWIRE_DATABASE_URL ?? '', '--json'))
    expect(printed.ok).toBe(true)
    const rules = await readRules({ withJournal: false })
    expect(printed.rules.map((finding: { rule: string }) => finding.rule)).toEqual([
      ...rules.map(({ id }) => id),
      // About chains of hashes, which no query can follow: service/test/operations/seals.test.ts violates them.
      ...['C01', 'C02', 'C03'],
    ])
  })

  it('exits with 6 and names the invariant and the row when one is violated', async () => {
    await inClone(async (url, client) => {
      await client.query(`update item_supply set pool_left = pool_left + 1 where item_id = '${FROM_POOL}'`)
      const outcome = await verify(url).catch((error: Error) => error.message)
      expect(outcome).toContain('ended with 6')
      expect(outcome).toMatch(/1 of \d+ rules are violated: M15\./)
      expect(outcome).toMatch(new RegExp(`M15 +VIOLATED 1× +\\d+ ms +${FROM_POOL}`))
      expect(outcome).toContain("M15  The level kept beside an item's pool is")
      await expect(verify(url, '--rule', 'M14')).resolves.toMatch(/^RULE.*\nM14 +ok/)
    })
  })

  it('refuses an unknown invariant', async () => {
    await expect(verify(sample.urlOf(), '--rule', 'M99')).rejects.toThrow('ended with 4')
  })
})

/** A copy of the system in which an endpoint got an event and has had two secrets, the second by rotation. */
async function withReceiver(
  work: (url: string, journal: Journal, client: pg.Client) => Promise<void>,
): Promise<void> {
  await inClone(async (url, client) => {
    await client.query(`${endpoint()}; ${delivery(DONE)};
      insert into webhook_secrets (account_id, id, secret_sealed, secret_kek_id, created_at, ends_at)
      values (${ACCOUNT}, 'whs_1', 'sealed', 'proof', now(), now()), (${ACCOUNT}, 'whs_2', 'sealed', 'proof', now(), null)`)
    const { rows } = await client.query<{ account_id: string; event_id: string }>(
      `select ${ACCOUNT} as account_id, ${EVENT} as event_id`,
    )
    const [{ account_id, event_id }] = rows as [{ account_id: string; event_id: string }]
    const journal = copyOf(sample.journal)
    answerWithSecret(journal, 'POST', '/v1/webhook', SECRET, account_id)
    journal.rotated(account_id, `${SECRET}1`)
    const got = { event_id, url: 'https://hook.example/', body: Buffer.from('{}'), is_genuine: true }
    journal.received({ ...got, signed_at: new Date() }).answered(200)
    await work(url, journal, client)
  })
}

/** An answer with a webhook secret in it. */
function answerWithSecret(
  journal: Journal,
  method: string,
  path: string,
  secret: string,
  account?: string,
): void {
  const account_id = account ?? (journal.calls.at(-1) as Call).account_id
  const { key_id } = one(journal.calls, (call) => call.account_id === account_id && call.status === 200)
  const call = journal.sent({ account_id, key_id, method, path, nonce: crypto.randomUUID() })
  call.answered({ status: 200, body: { secret } })
}

/** In a transaction that is rolled back, which is cheaper than a copy of the database. */
async function inUndone(work: (client: pg.Client) => Promise<void>): Promise<void> {
  await asSuperuser(sample.urlOf(), async (client) => {
    await client.query('begin')
    await work(client)
    await client.query('rollback')
  })
}

/** Works on a copy of the database that is removed afterwards. */
async function inClone(work: (url: string, client: pg.Client) => Promise<void>): Promise<void> {
  clones += 1
  const name = `planted_${clones}`
  await asSuperuser(sample.urlOf('postgres'), async (client) => {
    await client.query(`create database ${name} template shopwire`)
    await client.query(`alter database ${name} set search_path = shopwire`)
  })
  try {
    await asSuperuser(sample.urlOf(name), async (client) => {
      // A store is closed on a copy of its database.
      await client.query('update database_identity set copy = database_copy()')
      await work(sample.urlOf(name), client)
    })
  } finally {
    await asSuperuser(sample.urlOf('postgres'), (client) =>
      client.query(`drop database ${name} with (force)`),
    )
  }
}

async function asSuperuser(url: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}

/** Moves no money, so that only the order it names is wrong. */
function zeroTransfer(kind: string, order_id: string): string {
  return `with counted as (
            update balances set transfer_count = transfer_count + 1 where account_id = ${ACCOUNT} returning *
          )
          insert into transfers (account_id, seq, kind, change_cents, balance_after_cents, order_id, created_at)
          select account_id, transfer_count, '${kind}', 0, balance_cents, ${order_id}, now()
            from counted`
}

/** An endpoint that came after everything there is, with something about it changed. */
function endpoint(change = `set_by = 'key'`): string {
  return `insert into webhook_endpoints (account_id, id, url, set_by, created_at)
          values (${ACCOUNT}, 'whe_planted', 'https://hook.example/', 'key', now());
          update webhook_endpoints set ${change} where id = 'whe_planted'`
}

function delivery(change = `state = 'pending'`): string {
  return `insert into deliveries (account_id, endpoint_id, event_id, created_at, next_at)
          values (${ACCOUNT}, 'whe_planted', ${EVENT}, now(), now());
          update deliveries set ${change} where endpoint_id = 'whe_planted'`
}

function attempt(n: number, at: string, address: string): string {
  return `insert into delivery_attempts (account_id, endpoint_id, event_id, round, n, started_at, finished_at, status, remote_address)
          values (${ACCOUNT}, 'whe_planted', ${EVENT}, 1, ${n}, now() + interval '${at}', now() + interval '${at}', 200, '${address}')`
}

/** Those that keep a row as it was decided. */
function dropTriggers(table: string): string {
  return `alter table ${table} disable trigger user`
}

function dropChecks(table: string): string {
  return `do $$
          declare name text;
          begin
            for name in select conname from pg_constraint where conrelid = '${table}'::regclass and contype = 'c' loop
              execute format('alter table ${table} drop constraint %I', name);
            end loop;
          end $$`
}

function copyOf({ calls, revocations, receipts, secrets }: Journal): Journal {
  const copy = new Journal()
  copy.calls.push(...calls.map((call) => ({ ...call })))
  copy.revocations.push(...revocations)
  copy.receipts.push(...receipts)
  copy.secrets.push(...secrets)
  return copy
}

function one(calls: readonly Call[], isIt: (call: Call) => boolean): Call {
  const found = calls.find(isIt)
  if (!found) throw new Error('the sample system has no such call')
  return found
}

/** A purchase that was asked for a single time. */
function boughtOnce(calls: readonly Call[]): Call {
  const repeated = new Set(calls.filter(({ replayed }) => replayed).map(({ order_id }) => order_id))
  return one(calls, ({ status, order_id }) => status === 201 && !repeated.has(order_id))
}

function add(calls: Call[], call: Call): Call {
  const added = { ...call, seq: calls.length + 1 }
  calls.push(added)
  return added
}

/** So many calls, a millisecond apart, an hour after all others. Answers with the number of the first. */
function burst(calls: Call[], count: number, what: Partial<Call>): string {
  const model = one(calls, ({ status }) => status === 200)
  const startAt = after(model.sent_at, 3_600_000)
  const added = Array.from({ length: count }, (_, n) => {
    const at = after(startAt, n)
    return add(calls, { ...model, order_id: null, ...what, ...fresh(), sent_at: at, received_at: at })
  })
  return String(added[0]?.seq)
}

const fresh = () => ({ nonce: crypto.randomUUID(), n_links: 0, idempotency_key: null })

function after(at: Date, ms: number): Date {
  return new Date(at.getTime() + ms)
}

function plantTopUp(seq: string): string {
  return `insert into top_ups (account_id, id, provider, amount_cents, state, reference, created_by, created_by_name, created_at, credited_cents, credited_seq)
          values (${ACCOUNT}, 'top_planted', 'bank', 100, 'credited', 'RF18SW', 'per_1', 'Ada', now(), 100, ${seq})`
}
