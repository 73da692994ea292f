import { setTimeout as sleep } from 'node:timers/promises'
import { group } from '../check.ts'
import { equal, that } from '../expect.ts'
import type { Key } from '../fixtures.ts'
import { newNonce } from '../signer.ts'
import { newOrderKey, type Tools } from '../tools.ts'

export const rateLimits = group('rate-limits', 'Rate limits', ['limits'])
const { check } = rateLimits

const UNKNOWN = '99999999999999999999'
const REQUESTS = 120
const ATTEMPTS = 20
/** How many requests are sent at a time. */
const AT_ONCE = 10

const unpaced = { isUnpaced: true }

/** One account that sends 30 wrongly signed requests and then 125 good ones, and some more when it is full. */
const requests = (t: Tools) =>
  t.scene('limits', async (tools) => {
    const key = await tools.buyer({ isFresh: true })
    const bystander = tools.fixtures.buyers.find(({ account }) => account !== key.account)
    for (let n = 0; n < 3; n += 1) {
      await Promise.all(
        Array.from({ length: AT_ONCE }, () => tools.get({ ...key, secret: 'wrong' }, '/ping', unpaced)),
      )
    }
    const first = await tools.get(key, '/ping', unpaced)
    const replies = [first]
    while (replies.length < REQUESTS + 5) {
      const several = Math.min(AT_ONCE, replies.length < REQUESTS ? REQUESTS - replies.length : 5)
      replies.push(
        ...(await Promise.all(Array.from({ length: several }, () => tools.get(key, '/ping', unpaced)))),
      )
    }
    const nonce = newNonce()
    const spent = await tools.get(key, '/ping', { ...unpaced, nonce })
    const respent = await tools.get(key, '/ping', { ...unpaced, nonce })
    const unscoped = await tools.get(key, '/orders/none', unpaced)
    const order = await tools.order(key, [{ id: UNKNOWN }], unpaced)
    const publicly = await tools.send({ path: '/status' })
    const beside = bystander && (await tools.get(bystander, '/ping'))
    const over = replies.slice(REQUESTS)
    return { key, first, replies, over, spent, respent, unscoped, order, publicly, beside }
  })

check('120-pass', '120 requests in a minute pass', ['lim.requests', 'd1.limit-algorithm'], async (t) => {
  const { replies } = await requests(t)
  equal(
    'how many of 120 passed',
    replies.slice(0, REQUESTS).filter(({ status }) => status === 200).length,
    REQUESTS,
  )
})
check('121-refused', 'the 121st is refused', ['lim.requests', 'err.429', 'd1.limit-algorithm'], async (t) => {
  const { over } = await requests(t)
  for (const reply of over) reply.refused(429, 'rate_limited')
})
check(
  'retry-after',
  'a 429 says in Retry-After how many seconds to wait',
  ['lim.retry-after', 'err.429', 'd1.retry-after'],
  async (t) => {
    const { over } = await requests(t)
    for (const reply of over) {
      const wait = reply.header('retry-after')
      that('whole seconds from 1 to 60', /^[1-9][0-9]?$/.test(wait ?? '') && Number(wait) <= 60, wait)
    }
  },
)
check(
  'wait-is-enough',
  'after waiting Retry-After the next request passes, whatever was refused meanwhile',
  ['err.429', 'd1.429-counts'],
  async (t) => {
    const { key, unscoped } = await requests(t)
    await sleep(1_000 * Number(unscoped.header('retry-after')))
    ;(await t.get(key, '/ping', unpaced)).is(200)
  },
  { pace: 'slow' },
)
check('nonce-spent', 'a 429 spends its nonce', ['d1.nonce-spent'], async (t) => {
  const { spent, respent } = await requests(t)
  spent.refused(429, 'rate_limited')
  respent.refused(401, 'nonce_reused')
})
check('before-lookup', 'a full window is returned before anything is looked up', ['d1.order'], async (t) =>
  (await requests(t)).unscoped.refused(429, 'rate_limited'),
)
check('orders-too', 'order attempts count among the requests', ['d1.order-attempt'], async (t) =>
  (await requests(t)).order.refused(429, 'rate_limited'),
)
check(
  'bad-signatures-free',
  'wrong signatures do not count against the account',
  ['d1.bad-auth-counts'],
  async (t) => {
    const { first } = await requests(t)
    that(
      '119 left after 30 wrong ones and 1 right one',
      /"req";r=119\b/.test(first.is(200).header('ratelimit') ?? ''),
      first.header('ratelimit'),
    )
  },
)
check('status-free', 'the public status is not counted', ['d2.status', 'lim.requests'], async (t) =>
  (await requests(t)).publicly.is(200),
)
check(
  'other-account',
  'another account is not held up',
  ['lim.requests', 'd1.limit-algorithm'],
  async (t) => {
    const { beside } = await requests(t)
    beside?.is(200)
  },
  { needs: ['twoBuyers'] },
)
check(
  'all-keys',
  'all keys of an account share its limit',
  ['lim.requests', 'd1.limit-algorithm'],
  async (t) => {
    const left = async (key: Key | undefined) =>
      Number(/"req";r=(\d+)/.exec((await t.get(key as Key, '/ping')).is(200).header('ratelimit') ?? '')?.[1])
    const before = await left(t.fixtures.only?.['account:read'])
    const after = await left(t.fixtures.without?.['orders:write'])
    that(`fewer than ${before} left for the other key`, after < before, after)
  },
  { needs: ['only', 'without'] },
)

/** One account that tries to order 22 times: replays, refusals and nonsense among them. */
const attempts = (t: Tools) =>
  t.scene('order-limits', async (tools) => {
    const key = await tools.buyer({ isFresh: true })
    const idempotency_key = newOrderKey()
    const send = (n: number) => {
      if (n % 3 === 0) return tools.post(key, '/orders', 'no json', unpaced)
      if (n % 3 === 1) return tools.post(key, '/orders', { items: [], idempotency_key }, unpaced)
      return tools.order(key, [{ id: UNKNOWN }], unpaced)
    }
    const replies = []
    for (let n = 0; n < ATTEMPTS + 2; n += 1) replies.push(await send(n))
    return {
      replies,
      read: await tools.get(key, '/orders', unpaced),
      quote: await tools.post(key, '/quote', { items: [{ id: UNKNOWN }] }, unpaced),
    }
  })

check(
  '20-attempts',
  '20 order attempts in a minute are let in, whatever becomes of them',
  ['lim.orders', 'd1.order-attempt'],
  async (t) => {
    const { replies } = await attempts(t)
    equal(
      'how many of 20 were let in',
      replies.slice(0, ATTEMPTS).filter(({ status }) => status !== 429).length,
      ATTEMPTS,
    )
  },
)
check(
  '21st-attempt',
  'the 21st order attempt is refused',
  ['lim.orders', 'err.429', 'd1.order-attempt'],
  async (t) => {
    const { replies } = await attempts(t)
    for (const reply of replies.slice(ATTEMPTS)) reply.refused(429, 'rate_limited')
  },
)
check(
  'attempts-retry-after',
  'its Retry-After is whole seconds from 1 to 60',
  ['lim.retry-after', 'd1.retry-after'],
  async (t) => {
    const { replies } = await attempts(t)
    const wait = replies.at(-1)?.header('retry-after')
    that('whole seconds from 1 to 60', /^[1-9][0-9]?$/.test(wait ?? '') && Number(wait) <= 60, wait)
  },
)
check('reads-go-on', 'who may not order any more may still read and quote', ['lim.orders'], async (t) => {
  const { read, quote } = await attempts(t)
  read.is(200)
  quote.is(200)
})
check(
  'replays-count',
  'a replayed order is an attempt too',
  ['d1.order-attempt'],
  async (t) => {
    const key = await t.buyer()
    const idempotency_key = newOrderKey()
    const cart = [{ id: t.item('plain').id }]
    const left = async () =>
      Number(
        /"orders";r=(\d+)/.exec(
          (await t.order(key, cart, { idempotency_key })).header('ratelimit') ?? '',
        )?.[1],
      )
    const first = await left()
    equal('attempts left after the replay', await left(), first - 1)
  },
  { needs: ['spend', 'item:plain'] },
)
check(
  'headers',
  'every signed answer has both limits and what is left of them',
  ['d1.extra-headers'],
  async (t) => {
    const reply = (await t.get(await t.buyer(), '/ping')).is(200)
    equal('RateLimit-Policy', reply.header('ratelimit-policy'), '"req";q=120;w=60, "orders";q=20;w=60')
    that(
      'what is left of both',
      /^"req";r=\d+;t=\d+, "orders";r=\d+;t=\d+$/.test(reply.header('ratelimit') ?? ''),
      reply.header('ratelimit'),
    )
  },
)
check(
  'headers-on-refusals',
  'a refusal after the signature has them too',
  ['d1.extra-headers'],
  async (t) => {
    const reply = (await t.get(await t.buyer(), '/catalogue?limit=0')).refused(400)
    that('RateLimit', reply.header('ratelimit') !== undefined, reply.headers)
  },
)
