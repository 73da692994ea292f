import { DEMO_PASSWORD, PEOPLE } from '../demo/people.ts'
import type { DemoKey, storeFiles } from './store.ts'

export interface Ports {
  readonly api: number
  readonly dashboard: number
  /** Of the pages for people, mail and webhooks. */
  readonly pages: number
  /** Where each program reports its health. */
  readonly health: number
  readonly worker: number
  readonly web: number
}

interface Facts {
  readonly ports: Ports
  readonly seconds: number
  readonly files: ReturnType<typeof storeFiles>
  readonly isPortalBuilt: boolean
}

/** The first one in the demo catalogue. */
const DEMO_ITEM = '1144058340327047001'
const CLOSING = 'Reloads on every change. Ctrl-C stops everything; "npm run dev -- --reset" starts over.\n'

export function announceDemo(facts: Facts & DemoKey): string {
  const { ports, files, key, secret } = facts
  const base = `http://127.0.0.1:${ports.api}`
  return `${addresses(facts)}
  Key        ${key}   (with its secret in ${files.key})

Open http://localhost:${ports.pages}/ and sign in with one click as ${PEOPLE.owner.name}, who owns two accounts, as their developer, finance or
viewer, or as ${PEOPLE.newcomer.name}, whose account is new. By hand: ${PEOPLE.viewer.email}, password ${DEMO_PASSWORD}

Buy something, and watch it in the dashboard. It signs when it runs, so it works whenever it is pasted:

key=${key} secret=${secret}
call() {  # call METHOD PATH [BODY]
  ts=$(date +%s); nonce=$(openssl rand -hex 16); hash=$(printf '%s' "$3" | openssl dgst -sha256 -r | cut -d' ' -f1)
  sig=$(printf '%s\\n%s\\n%s\\n%s\\n%s' "$1" "$2" "$ts" "$nonce" "$hash" | openssl dgst -sha256 -hmac "$secret" -r | cut -d' ' -f1)
  curl -i -X "$1" ${base}"$2" \${3:+-d "$3"} -H "X-Api-Key: $key" -H "X-Api-Timestamp: $ts" -H "X-Api-Nonce: $nonce" -H "X-Api-Signature: $sig"; echo
}
call GET '/v1/catalogue?limit=3'
buy='{"items":[{"id":"${DEMO_ITEM}"}],"idempotency_key":"first-${Date.now()}"}'
call POST /v1/orders "$buy"
sleep 1; call POST /v1/orders "$buy"   # a replay: the same order, no new charge, and by now its link

${CLOSING}`
}

export function announceEmpty(facts: Facts): string {
  const admin = `node --env-file=${facts.files.settings} service/bin/admin.ts`
  return `${addresses(facts)}

The store is empty. An account and its first owner; the invitation is in the mail inbox:

${admin} accounts create 'My company'
${admin} people invite <the account id> --email you@example.com --role owner
${admin} catalogue import tools/demo/catalogue.json

${CLOSING}`
}

function addresses({ ports, seconds, files, isPortalBuilt }: Facts): string {
  const base = `http://127.0.0.1:${ports.api}`
  const pages = `http://localhost:${ports.pages}`
  return `
Ready in ${seconds.toFixed(1)} s.

  Start      ${pages}/   people to sign in as
  Dashboard  http://localhost:${ports.dashboard}
  Mail       ${pages}/mail
  Webhooks   ${pages}/webhooks
  API        ${base}/v1/status
  Docs       ${isPortalBuilt ? `${base}/docs/` : 'docs/README.md; run npm run docs:build to serve the portal from the next start on'}
  Health     http://127.0.0.1:${ports.health}/readyz   /livez   /metrics   (worker: port ${ports.worker}, dashboard: port ${ports.web})
  Operate    node --env-file=${files.settings} service/bin/admin.ts --help`
}
