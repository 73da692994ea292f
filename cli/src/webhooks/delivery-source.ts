/** An event that was sent, with the very bytes and headers it was sent with. */
export interface Delivery {
  readonly event_id: string
  readonly event: string
  readonly order_id: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Where `listen` gets events from. The emulator is one; a store's live stream will be another. */
export interface DeliverySource {
  /** For the first line, such as `the emulator at http://127.0.0.1:4010`. */
  readonly name: string
  /** What the forwarded signatures are made with. */
  readonly secret: string
  /** Where the events also go by themselves, if anywhere. */
  readonly alsoSentTo: string | undefined
  /** Sees to it that there are events at all. */
  open(): Promise<void>
  /** Never ends by itself: it connects again and goes on where it was. `onTrouble` is told when it has to. */
  deliveries(signal: AbortSignal, onTrouble: (text: string) => void): AsyncIterable<Delivery>
  /** Puts back what `open` changed. */
  close(): Promise<void>
}
