import { freePort } from '@shopwire/engines'
import { type Server, startServer } from './children.ts'
import { BIN, type Shop } from './shop.ts'

/** Default settings but for the addresses and the limit, which a load of this size would run into; the log goes to a file. */
export async function startApi(
  shop: Shop,
  admission: 'postgres' | 'redis',
  log: number,
  profile = false,
): Promise<Server> {
  const port = await freePort()
  const healthPort = await freePort()
  const env = {
    ...shop.env,
    SHOPWIRE_ADMISSION: admission,
    ...(admission === 'redis' ? { SHOPWIRE_REDIS_URLS: shop.redisUrl } : {}),
    SHOPWIRE_HOST: '127.0.0.1',
    SHOPWIRE_PORT: String(port),
    SHOPWIRE_HEALTH_HOST: '127.0.0.1',
    SHOPWIRE_HEALTH_PORT: String(healthPort),
  }
  const args = [...inspected(profile), `${BIN}api.ts`]
  return startServer(args, env, {
    port,
    readyUrl: `http://127.0.0.1:${healthPort}/readyz`,
    isReady: (status) => status === 200,
    stdout: log,
  })
}

/** With default settings too. */
export async function startWorker(shop: Shop, log: number, profile = false): Promise<Server> {
  const port = await freePort()
  const env = { ...shop.env, SHOPWIRE_HEALTH_HOST: '127.0.0.1', SHOPWIRE_HEALTH_PORT: String(port) }
  return startServer([...inspected(profile), `${BIN}worker.ts`], env, {
    port,
    readyUrl: `http://127.0.0.1:${port}/readyz`,
    isReady: (status) => status === 200,
    stdout: log,
  })
}

function inspected(profile: boolean): string[] {
  return profile ? ['--inspect=127.0.0.1:0'] : []
}
