// Made by "npm run generate" from contract/; do not edit.

/** What an account can spend. */
export interface Balance {
  /** In US cents; never below 0. */
  balance_cents: number
  /** Always `USD`. */
  currency: 'USD'
}

/** One line of a cart. */
export interface CartItem {
  /** The item’s id, as a string. */
  id: string
  /** How many; 1 when left out. */
  qty?: number | undefined
  /** The unit price your customer saw. When the price is another by now, nothing is bought. Left out, the price of the moment is charged. */
  expected_price_cents?: number | undefined
}

/** The catalogue has a new revision. */
export interface CatalogueChangedEvent {
  /** Unique; the same over all attempts, and equal to `X-Webhook-Id`. */
  id: string
  /** What happened. */
  event: 'catalogue.changed'
  /** When it happened. */
  created_at: string
  /** The newest revision. `message` is there only in an example that was sent from the dashboard: nothing in it is real. */
  data: {
    revision: string
    refresh: true
    message?: string | undefined
  }
}

/** A page of items. */
export interface CataloguePage {
  /** Ordered by the number the id stands for. */
  items: Item[]
  /** Items on this page. */
  count: number
  /** All that match, on all pages. */
  total: number
  /** The limit that was applied. */
  limit: number
  /** How many were skipped. */
  offset: number
}

/** Something the store sells, or has sold. */
export interface Item {
  /** Digits, as a string: as a number it would lose some. */
  id: string
  /** For people. */
  name: string
  /** What kind of item it is. */
  type: 'decoration' | 'effect' | 'nameplate' | 'frame' | 'bundle'
  /** The collection’s name. */
  collection: string
  /** Unit price in US cents. */
  price_cents: number
  /** Always `USD`. */
  currency: 'USD'
  /** A preview. Always null for a `frame`, which is put together from layers. */
  image: string | null
  /** Always null: availability is `sellable`, not a count. */
  stock: null
  /** Whether it can be bought now. */
  sellable: boolean
  /** From this instant on it is not sellable; null when no end is set. */
  available_until: string | null
}

/** A purchase. Names and prices are those of the moment it was bought. */
export interface Order {
  /** Opaque. */
  id: string
  /** `paid` awaits delivery; `delivered` and `cancelled` are final. A cancelled order was refunded in full. */
  status: 'paid' | 'delivered' | 'cancelled'
  /** Always `USD`. */
  currency: 'USD'
  /** What was charged. */
  total_cents: number
  /** When it was bought. */
  created_at: string
  /** When its links became ready; null until then. */
  delivered_at: string | null
  /** As they were ordered. */
  lines: OrderLine[]
  /** One gift link per unit, in the order of the lines; empty unless delivered, and when the store has erased them, some time after the delivery. Sensitive: whoever holds an unclaimed link can redeem it. Never log or cache this field. */
  links: string[]
}

/** An order was bought. */
export interface OrderAcceptedEvent {
  /** Unique; the same over all attempts, and equal to `X-Webhook-Id`. */
  id: string
  /** What happened. */
  event: 'order.accepted'
  /** When it happened. */
  created_at: string
  /** The paid order. `message` is there only in an example that was sent from the dashboard: nothing in it is real. */
  data: {
    order: Order
    message?: string | undefined
  }
}

/** An order was refunded. */
export interface OrderCancelledEvent {
  /** Unique; the same over all attempts, and equal to `X-Webhook-Id`. */
  id: string
  /** What happened. */
  event: 'order.cancelled'
  /** When it happened. */
  created_at: string
  /** The cancelled order. `message` is there only in an example that was sent from the dashboard: nothing in it is real. */
  data: {
    order: Order
    message?: string | undefined
  }
}

/** An order’s links are ready. */
export interface OrderDeliveredEvent {
  /** Unique; the same over all attempts, and equal to `X-Webhook-Id`. */
  id: string
  /** What happened. */
  event: 'order.delivered'
  /** When it happened. */
  created_at: string
  /** The delivered order, with its links. `message` is there only in an example that was sent from the dashboard: nothing in it is real. */
  data: {
    order: Order
    message?: string | undefined
  }
}

/** One line of a purchase. */
export interface OrderLine {
  /** The item’s id. */
  id: string
  /** Its name at purchase. */
  name: string
  /** How many. */
  qty: number
  /** The price paid for each. */
  unit_price_cents: number
}

/** An order as lists show it. */
export interface OrderSummary {
  /** Opaque. */
  id: string
  /** `paid` awaits delivery; `delivered` and `cancelled` are final. A cancelled order was refunded in full. */
  status: 'paid' | 'delivered' | 'cancelled'
  /** Always `USD`. */
  currency: 'USD'
  /** What was charged. */
  total_cents: number
  /** When it was bought. */
  created_at: string
}

/** A page of orders. */
export interface OrdersPage {
  /** Newest first. */
  orders: OrderSummary[]
  /** All that match, on all pages. */
  total: number
  /** The limit that was applied. */
  limit: number
  /** How many were skipped. */
  offset: number
}

/** The account behind a key. */
export interface PingResult {
  /** Always true. */
  ok: true
  /** The account’s name. */
  name: string
  /** `active`; other values are reserved. */
  status: string
  /** `active`; other values are reserved. */
  account_status: string
}

/** What a cart would cost now. */
export interface Quote {
  /** True only when every line is `ok`: the same order would pass now, the balance aside. */
  ok: boolean
  /** Always `USD`. */
  currency: 'USD'
  /** At current prices; a `sold_out` line adds nothing. */
  total_cents: number
  /** One for each line of the cart. */
  lines: QuoteLine[]
}

/** What one line would cost. An id that nobody knows is `sold_out` and has neither name nor prices. */
export interface QuoteLine {
  /** As asked. */
  id: string
  /** As asked, or 1. */
  qty: number
  /** `price_changed` when the price is not the expected one, `sold_out` when it cannot be bought, which wins. */
  status: 'ok' | 'price_changed' | 'sold_out'
  /** The item’s name. */
  name?: string | undefined
  /** The price now. */
  unit_price_cents?: number | undefined
  /** The price now, times `qty`. Left out of a `sold_out` line, so that those shown add up to the total. */
  line_total_cents?: number | undefined
}

/** The state of the service and the store. */
export interface ServiceStatus {
  /** `degraded` when the store is closed, work piles up, or a part of the service does not answer. */
  status: 'operational' | 'degraded'
  /** `unavailable` when signed requests cannot be served. */
  api: 'up' | 'unavailable'
  /** Whether new orders are taken. */
  store: 'open' | 'closed'
  /** Orders that are paid and not yet delivered. */
  queue: number
  /** When these values were sampled. */
  updated: string
}

/** A test. */
export interface TestEvent {
  /** Unique; the same over all attempts, and equal to `X-Webhook-Id`. */
  id: string
  /** What happened. */
  event: 'test'
  /** When it happened. */
  created_at: string
  /** A text. */
  data: {
    message: string
  }
}

/** The endpoint after it was set. */
export interface WebhookConfiguration {
  /** Where events go; null when there is no endpoint. */
  webhook_url: string | null
  /** Deliveries that wait or are being retried; not single attempts. */
  pending: number
  /** Deliveries given up. */
  failed: number
  /** When an event was last accepted. */
  last_delivered_at: string | null
  /** When an attempt last failed. */
  last_failure_at: string | null
  /** Why the last failed attempt failed: `dns`, `blocked`, `connect`, `tls`, `timeout`, `reset`, `bad_response`, `internal`, or `http_` and the status. */
  last_error: string | null
  /** The signing secret, only in the answer that created the endpoint; otherwise left out. Keep it at once, on your server. */
  secret?: string | undefined
}

/** What an endpoint receives; distinguished by `event`. */
export type WebhookEvent =
  | OrderAcceptedEvent
  | OrderDeliveredEvent
  | OrderCancelledEvent
  | CatalogueChangedEvent
  | TestEvent

/** The endpoint and the state of its deliveries. */
export interface WebhookHealth {
  /** Where events go; null when there is no endpoint. */
  webhook_url: string | null
  /** Deliveries that wait or are being retried; not single attempts. */
  pending: number
  /** Deliveries given up. */
  failed: number
  /** When an event was last accepted. */
  last_delivered_at: string | null
  /** When an attempt last failed. */
  last_failure_at: string | null
  /** Why the last failed attempt failed: `dns`, `blocked`, `connect`, `tls`, `timeout`, `reset`, `bad_response`, `internal`, or `http_` and the status. */
  last_error: string | null
}

/** The test is queued. */
export interface WebhookTestResult {
  /** Always true. */
  ok: true
  /** Always true. */
  queued: true
}

/** Filters and page of GET /catalogue. */
export interface CatalogueQuery {
  /** Items on a page. */
  limit?: number | undefined
  /** Matching items to skip. */
  offset?: number | undefined
  /** Text anywhere in the name, in any case. Empty: no filter. */
  search?: string | undefined
  /** Text anywhere in the collection’s name, in any case. Empty: no filter. */
  category?: string | undefined
  /** Only items of this type. */
  type?: 'decoration' | 'effect' | 'nameplate' | 'frame' | 'bundle' | undefined
}

/** Filters and page of GET /orders. */
export interface OrdersQuery {
  /** Orders on a page. */
  limit?: number | undefined
  /** Orders to skip. */
  offset?: number | undefined
}
