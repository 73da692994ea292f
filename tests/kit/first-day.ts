import type { Step } from './transcript.ts'

export const ITEM = '1144058340327047001'

/** The values that no page shows. */
export const SECRETS = ['secret', 'webhookSecret', 'token']

export interface Way {
  /** The operator's command. */
  readonly admin: string
  /** Where a person writes files, and what that command calls the folder. */
  readonly writes: string
  readonly reads: string
  readonly api: string
}

/** The same on every way of installing. */
export function firstOperator({ admin }: Way): readonly (Step | string)[] {
  return [
    `The first operator is you; the token is shown this once, and \`${admin}\` reads it from your home.`,
    { $: `${admin} operators add alex@example.com`, reads: { token: /swo_[\w-]+/ } },
    {
      $: '(umask 077; mkdir -p ~/.config/shopwire; cat >~/.config/shopwire/operator-token)',
      types: 'token',
    },
  ]
}

/** From an empty store to a customer who buys; both events are accepted, and the books add up. */
export function firstOrder({ admin, writes, reads, api }: Way): readonly Step[] {
  return [
    {
      $: `cat >${writes}catalogue.csv <<'END'
id,name,type,collection,price_cents
${ITEM},Aurora Ring,decoration,Northern Lights,499
END
printf 'https://gift.example/%s\\n' one two three >${writes}links.txt`,
    },
    { $: `${admin} catalogue import ${reads}catalogue.csv --yes` },
    { $: `${admin} pool load ${ITEM} ${reads}links.txt` },
    { $: `${admin} accounts create "Acme Bots"`, reads: { account: /acct_\w+/ } },
    { $: `${admin} accounts fund {account} 50.00 --reference wire-1` },
    {
      $: `${admin} keys create {account} --name production --scopes all`,
      reads: { key: /key_\w+/, secret: /Secret\s+(\S+)/ },
    },
    {
      $: `npx @shopwire/cli profile add acme --base-url ${api}/v1 --key-id {key} --use`,
      types: 'secret',
    },
    { $: 'npx @shopwire/cli webhook set {receiver}', reads: { webhookSecret: /(whsec_\S+)/ } },
    {
      $: `npx @shopwire/cli orders create --item ${ITEM}:1 --key first-order --yes`,
      reads: { order: /ord_\w+/ },
    },
    { $: 'npx @shopwire/cli orders wait {order}', prints: /Status +delivered/ },
    { $: `${admin} webhooks log {account}`, until: /order\.delivered\s+delivered/ },
    { $: `${admin} verify 2>/dev/null | tail -1`, prints: /All \d+ rules hold/ },
  ]
}
