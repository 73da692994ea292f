import { startRelay } from './relay.ts'

/** A proxy between a caller and the service that drops answers: the service has done the work, and the caller gets no answer. */
export interface CuttingProxy {
  readonly port: number
  /** The next so many answers are cut off before their first byte. */
  loseAnswers(count: number): void
  close(): Promise<void>
}

export async function startCuttingProxy(port: number): Promise<CuttingProxy> {
  let toLose = 0
  const relay = await startRelay(
    () => ({ port }),
    ({ client, cut }) => ({
      fromServer(bytes) {
        if (toLose === 0) return void client.write(bytes)
        toLose--
        cut()
      },
    }),
  )
  return {
    port: relay.port,
    loseAnswers(count) {
      toLose = count
    },
    close: relay.close,
  }
}
