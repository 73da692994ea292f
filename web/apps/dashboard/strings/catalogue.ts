import { formatCount } from '#lib/money.ts'

/** Every word of the catalogue screen. */
export const catalogue = {
  title: 'Catalogue',
  what: 'The catalogue',
  revision: (n: number) => `Revision ${formatCount(n)}`,
  meta: (sellable: number, all: number) =>
    sellable === all
      ? `${formatCount(all)} items, all of them can be bought now.`
      : `${formatCount(all)} items, ${formatCount(sellable)} of them can be bought now.`,
  openCart: (lines: number) =>
    lines === 0 ? 'Build a quote' : `Quote ${lines === 1 ? '1 item' : `${lines} items`}`,

  search: 'Search by name',
  filters: {
    type: 'Type',
    collection: 'Collection',
    sellable: 'For sale',
    sellables: [
      ['yes', 'Can be bought now'],
      ['no', 'Cannot be bought'],
    ],
    price: 'Price',
  },
  types: {
    decoration: 'Decoration',
    effect: 'Effect',
    nameplate: 'Nameplate',
    frame: 'Frame',
    bundle: 'Bundle',
  },
  view: 'View',
  table: 'Table',
  grid: 'Grid',
  caption: 'Items, by id',
  columns: {
    item: 'Item',
    type: 'Type',
    collection: 'Collection',
    price: 'Price',
    ends: 'Ends',
    state: 'For sale',
    add: 'Add to quote',
  },
  forSale: 'For sale',
  notForSale: 'Not for sale',
  ended: 'ended',
  add: 'Add',
  addThis: (name: string) => `Add ${name} to the quote`,
  inCart: 'In quote',
  removeThis: (name: string) => `In quote: ${name}`,
  full: 'A cart has at most 25 different items.',
  range: (from: number, to: number, total: number) =>
    `${formatCount(from)} to ${formatCount(to)} of ${formatCount(total)}`,
  previous: 'Previous',
  next: 'Next',
  none: 'The catalogue is empty',
  noneBody: 'Nothing is sold yet. The operator of the store imports items; they appear here within a second.',
  noResult: 'No item matches these filters',
  noResultBody: 'Remove one of them, or search for a part of the name.',
  noImage: 'no picture',

  quote: {
    title: 'Quote',
    lead: 'What this cart costs now, from the same code that answers POST /quote. Nothing is bought.',
    empty: 'The cart is empty',
    emptyBody: 'Add items from the list. The quote ends in a snippet for your server.',
    quantity: (name: string) => `Quantity of ${name}`,
    remove: (name: string) => `Remove ${name}`,
    total: 'Total',
    ok: 'Would be accepted as it is',
    notOk: 'Would be refused as it is',
    status: { ok: '', price_changed: 'price changed', sold_out: 'cannot be bought' },
    unknown: 'Unknown item',
    each: (price: string) => `${price} each`,
    quoting: 'Asking for the price…',
    failed: 'No quote',
    snippet: 'Snippet',
    snippetLead: 'The same cart from your server:',
    orderHint:
      'orders.create and orders create spend real balance. The price you saw is in the cart: if it has changed, the order is refused instead of charged.',
    clear: 'Empty cart',
    copy: 'Copy link to this cart',
  },
} as const
