import { type Redis, startRedis } from '@shopwire/test-kit/redis'

/** A Redis master, two replicas and three sentinels, as docs/self-hosting/network.md describes them. */
export interface Sentinels {
  /** Of the processes of the store. */
  readonly settings: Readonly<Record<string, string>>
  /** Returns what starts it again, as a replica of its successor. */
  killMaster(): Promise<() => Promise<void>>
  stop(): Promise<void>
}

const NAME = 'shop-master'
const HOST = '127.0.0.1'

export async function startSentinels(): Promise<Sentinels> {
  const replicated = {
    'min-replicas-to-write': '1',
    'min-replicas-max-lag': '10',
    'repl-diskless-sync-delay': '0',
  }
  const master = await startRedis({ settings: replicated })
  const replicaof = `${HOST} ${master.port}`
  const replicas = await Promise.all([1, 2].map(() => startRedis({ settings: { ...replicated, replicaof } })))
  const servers = [master, ...replicas]
  const watch = {
    'sentinel monitor': `${NAME} ${HOST} ${master.port} 2`,
    'sentinel down-after-milliseconds': `${NAME} 1500`,
    'sentinel failover-timeout': `${NAME} 10000`,
  }
  const startSentinel = () => startRedis({ isSentinel: true, settings: watch })
  const watcher = await startSentinel()
  const sentinels = [watcher, await startSentinel(), await startSentinel()]
  const masterNow = async (): Promise<Redis | undefined> => {
    const [, port] = (await watcher.command('SENTINEL', 'get-master-addr-by-name', NAME)) as string[]
    return servers.find((server) => String(server.port) === port)
  }
  return {
    settings: {
      SHOPWIRE_ADMISSION: 'redis',
      SHOPWIRE_REDIS_URLS: `redis://${NAME}`,
      SHOPWIRE_REDIS_SENTINELS: sentinels.map(({ url }) => url).join(','),
    },
    async killMaster() {
      const dead = await masterNow()
      await dead?.kill9()
      return async () => dead?.start()
    },
    async stop() {
      await Promise.all([...sentinels, ...servers].map((server) => server.stop()))
    },
  }
}
