import type { Snippet } from '#kit/components/values/code-well.tsx'
import type { HomeData } from './home-types.ts'

type Item = NonNullable<HomeData['checklist']>['item']

/** What to run in each step; nothing where a page of the dashboard does it. */
export function snippetsFor(step: string, item: Item): readonly Snippet[] {
  const id = item?.id ?? '123456789012345678'
  const named = item ? ` // ${item.name}` : ''
  const price = item?.price_cents ?? 499
  if (step === 'call') return [sdk('console.log(await shop.ping())'), cli('npx @shopwire/cli ping')]
  if (step === 'quote')
    return [
      sdk(
        'const quote = await shop.quote({',
        `  items: [{ id: '${id}', qty: 2 }],${named}`,
        '})',
        `console.log(quote.total_cents) // ${2 * price}`,
      ),
      cli(`npx @shopwire/cli quote --item ${id}:2`),
    ]
  if (step === 'order')
    return [
      sdk(
        '// Spends balance. Store the key before this line runs, and use it for every retry.',
        'const order = await shop.orders.create({',
        `  items: [{ id: '${id}', expected_price_cents: ${price} }],${named}`,
        "  idempotencyKey: 'first-order',",
        '})',
        'const { links } = await shop.orders.wait(order.id)',
      ),
      cli(`npx @shopwire/cli orders create --item ${id} --key first-order`),
    ]
  return []
}

const sdk = (...lines: readonly string[]): Snippet => ({
  name: 'SDK',
  language: 'ts',
  canCopy: false,
  code: [
    "import { Shopwire } from '@shopwire/sdk'",
    '',
    '// Reads SHOPWIRE_BASE_URL, SHOPWIRE_API_KEY and SHOPWIRE_API_SECRET',
    'const shop = new Shopwire()',
    ...lines,
  ].join('\n'),
})

const cli = (line: string): Snippet => ({ name: 'CLI', language: 'sh', canCopy: false, code: line })
