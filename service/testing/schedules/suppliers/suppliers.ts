import type { ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { startHttpServer } from '@shopwire/test-kit/receivers/http-server'
import type { Random } from '../../random.ts'

interface Ask {
  readonly id: string
  readonly sku: string
  readonly qty: number
}

/** What a supplier did for a request, by its own records. */
export interface Sale {
  readonly links: readonly string[]
  /** What it says that they cost; undefined when it says nothing. */
  readonly cost_cents: number | undefined
  /** Another request got the same links, by an error of the supplier: whichever comes second is not new to the store. */
  readonly isShared: boolean
}

/** A supplier as the simulation sees it: it keeps its own records, which our tables are compared with. */
export interface SimulatedSupplier {
  readonly name: string
  readonly unit_cost_cents: number
  readonly url: string
  /** By request id: everything it made and wants to be paid for. */
  readonly sales: ReadonlyMap<string, Sale>
  /** Answers every request for good from now on. */
  becomeHonest(): void
}

/** All suppliers of one lane, on one real port. */
export async function startSimulatedSuppliers() {
  const suppliers = new Map<string, (ask: Ask, response: ServerResponse) => void>()
  const server = await startHttpServer(async (request, response) => {
    const answer = suppliers.get(String(request.url).slice(1))
    if (!answer) response.writeHead(404).end()
    else answer((await json(request)) as Ask, response)
  })
  return {
    add(name: string, random: Random, note: (line: string) => void): SimulatedSupplier {
      const sales = new Map<string, Sale>()
      const refused = new Set<string>()
      const unit_cost_cents = 10 + random.below(90)
      let isHonest = false

      function sell({ id, qty }: Ask): Sale {
        const before = sales.get(id)
        if (before) return before
        const links = Array.from({ length: qty }, (_, n) => `https://gift.example/${name}/${id}/${n}`)
        const whole = unit_cost_cents * qty
        const cost_cents = random.pick([undefined, whole, whole, whole + 1 + random.below(50), 0])
        const sale = { links, cost_cents, isShared: false }
        sales.set(id, sale)
        return sale
      }

      /** The same links for another request: an error of the supplier. */
      function sellAgain({ id, qty }: Ask): Sale | undefined {
        const old = [...sales].find(([, { links, isShared }]) => links.length >= qty && !isShared)
        if (!old) return undefined
        const [oldId, { links, cost_cents }] = old
        sales.set(oldId, { links, cost_cents, isShared: true })
        const sale = { links: links.slice(0, qty), cost_cents: undefined, isShared: true }
        sales.set(id, sale)
        return sale
      }

      function decide(ask: Ask): 'gives' | 'refuses' | 'accepts' | 'fails' | 'loses' | 'garbles' {
        if (refused.has(ask.id)) return 'refuses'
        const isSold = sales.has(ask.id)
        if (isHonest) return isSold || random.chance(0.85) ? 'gives' : 'refuses'
        if (isSold)
          return random.weighted({ gives: 4, accepts: 2, fails: 1, loses: 2, garbles: 1, refuses: 0 })
        const how = random.weighted({ gives: 5, refuses: 2, accepts: 3, fails: 2, loses: 2, garbles: 1 })
        // It may or may not have made the links when its answer does not say so.
        if (how !== 'refuses' && how !== 'gives' && random.chance(0.5)) sell(ask)
        return how
      }

      suppliers.set(name, (ask, response) => {
        const how = decide(ask)
        note(`${name} ${how} ${ask.id.replace(/^ord_\w+-/, '…-')}${sales.has(ask.id) ? ' (made)' : ''}`)
        if (how === 'loses') response.socket?.destroy()
        else if (how === 'accepts') response.writeHead(202).end('{}')
        else if (how === 'fails') response.writeHead(500).end('{}')
        else if (how === 'garbles') response.writeHead(200).end('{"links":[]}')
        else if (how === 'refuses') {
          refused.add(ask.id)
          response.writeHead(random.pick([409, 422])).end('{}')
        } else {
          const isAgain = !isHonest && !sales.has(ask.id) && random.chance(0.05)
          const { links, cost_cents } = (isAgain ? sellAgain(ask) : undefined) ?? sell(ask)
          response.writeHead(200).end(JSON.stringify({ links, cost_cents }))
        }
      })
      return {
        name,
        unit_cost_cents,
        url: `http://127.0.0.1:${server.port}/${name}`,
        sales,
        becomeHonest() {
          isHonest = true
        },
      }
    },
    close: server.close,
  }
}
