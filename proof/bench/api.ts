import type { Server } from './children.ts'
import { startProgram } from './programs.ts'
import type { Shop } from './shop.ts'

/** Default settings but for the addresses and the limit, which a load of this size would run into; the log goes to a file. */
export function startApi(
  shop: Shop,
  admission: 'postgres' | 'redis',
  log: number,
  profile = false,
): Promise<Server> {
  const redis = admission === 'redis' ? { SHOPWIRE_REDIS_URLS: shop.redisUrl } : {}
  return startProgram('api', { ...shop.env, SHOPWIRE_ADMISSION: admission, ...redis }, log, profile)
}

/** With default settings too. */
export function startWorker(shop: Shop, log: number, profile = false): Promise<Server> {
  return startProgram('worker', shop.env, log, profile)
}
