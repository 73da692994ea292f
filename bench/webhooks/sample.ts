/** What the baselines send: an event of an order with three lines, as long as the service's own. */
export function sampleBody(id: string): Buffer {
  const line = { name: 'Amber Ancient Anchor 1234', qty: 1, unit_price_cents: 450, line_total_cents: 450 }
  return Buffer.from(
    JSON.stringify({
      id,
      created_at: '2026-01-01T00:00:00.000Z',
      event: 'order.accepted',
      data: {
        order: {
          id: 'ord_01jzzzzzzze80000000000000a',
          status: 'paid',
          total_cents: 1350,
          currency: 'USD',
          idempotency_key: 'seed-000000001234',
          items: [1, 2, 3].map((n) => ({ id: `10000000123456789${n}`, ...line })),
          created_at: '2026-01-01T00:00:00.000Z',
          delivered_at: null,
        },
      },
    }),
  )
}

export function sampleHeaders(id: string, timestamp: string, signature: string): Record<string, string> {
  return {
    'content-type': 'application/json; charset=utf-8',
    'user-agent': 'Shopwire-Webhooks/1',
    'x-webhook-timestamp': timestamp,
    'x-webhook-id': id,
    'x-webhook-signature': signature,
  }
}
