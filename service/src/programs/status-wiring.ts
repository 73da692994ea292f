import type { Config } from '../config/config.ts'
import { createStatusPage, type StatusPage } from '../operations/status-page/status-page.ts'
import { operatorFetch } from '../platform/outbound/operator-fetch.ts'
import type { Loop, LoopDeps } from './loop.ts'

const LOOK_EVERY_MS = 10_000

/** Without a folder nothing is recorded or written. */
export function statusLoops(
  config: Config,
  deps: LoopDeps & { isTimeTrusted(): boolean },
): { readonly loops: Loop[] } & Pick<StatusPage, 'problem'> {
  const folder = config.SHOPWIRE_STATUS_FOLDER
  if (folder === undefined) return { loops: [], problem: () => undefined }
  const { host, hostname } = new URL(config.SHOPWIRE_API_URL)
  const isSet = !hostname.endsWith('.example')
  const page = createStatusPage({
    ...deps,
    folder,
    place: {
      host: isSet ? host : undefined,
      apiUrl: isSet ? config.SHOPWIRE_API_URL : undefined,
      contact: config.SHOPWIRE_CONTACT,
      // Behind an egress proxy the worker cannot connect to anything directly, so it does not know what callers are answered.
      isAsked: isSet && config.SHOPWIRE_EGRESS_PROXY === undefined,
    },
    fetch: operatorFetch(),
  })
  return {
    loops: [
      {
        name: 'status page',
        everyMs: LOOK_EVERY_MS,
        needs: 'nothing',
        work: page.look,
        failure: 'the status page could not be made; orders and webhooks do not depend on it',
      },
    ],
    problem: page.problem,
  }
}
