import { useUrlState } from '#lib/url-state.ts'

export interface CartLine {
  readonly id: string
  readonly qty: number
}

export interface Cart {
  readonly lines: readonly CartLine[]
  readonly isFull: boolean
  readonly has: (id: string) => boolean
  /** Zero removes it. */
  readonly setQty: (id: string, qty: number) => void
  readonly clear: () => void
}

const LINES_MAX = 25
export const QTY_MAX = 10
const LINE = /^(\d{17,20})(?:x(\d{1,2}))?$/

/** The cart is in the address, as `123…x2.456…`, so that it survives a reload and can be handed to a colleague. */
export function useCart(): Cart {
  const [url, set] = useUrlState()
  const lines = readCart(url.cart)
  // The cursor and the open panel stay: a cart is no filter.
  const write = (next: readonly CartLine[]) =>
    set({ cart: writeCart(next), offset: url.offset, open: url.open }, { replace: true })
  return {
    lines,
    isFull: lines.length >= LINES_MAX,
    has: (id) => lines.some((line) => line.id === id),
    setQty(id, qty) {
      const isKnown = lines.some((line) => line.id === id)
      const next = isKnown
        ? lines.map((line) => (line.id === id ? { id, qty } : line)).filter((line) => line.qty > 0)
        : [...lines, { id, qty }]
      write(next.slice(0, LINES_MAX))
    },
    clear: () => write([]),
  }
}

export function readCart(text: string | undefined): readonly CartLine[] {
  const lines = new Map<string, CartLine>()
  for (const part of text?.split('.') ?? []) {
    const [, id, qty = '1'] = LINE.exec(part) ?? []
    if (id !== undefined) lines.set(id, { id, qty: Math.min(QTY_MAX, Math.max(1, Number(qty))) })
  }
  return [...lines.values()].slice(0, LINES_MAX)
}

export function writeCart(lines: readonly CartLine[]): string | undefined {
  return lines.map(({ id, qty }) => (qty === 1 ? id : `${id}x${qty}`)).join('.') || undefined
}
