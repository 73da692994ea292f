import type { Queryable } from '../../platform/database/db.ts'
import { quoteCart } from '../../quotes/quote.ts'
import { answer, endpoint } from './endpoint.ts'

export const postQuote = (db: Queryable) =>
  endpoint('postQuote', async ({ body }) => answer(200, await quoteCart(db, body.items)))
