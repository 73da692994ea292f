/** An event as it was sent, with its original bytes and headers. */
export interface Delivery {
  readonly event_id: string
  readonly event: string
  readonly order_id: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Whether the body contains its gift links, or placeholders. Only a store reports this. */
  readonly links?: 'none' | 'included' | 'masked'
}

/** Where `listen` gets events from: an emulator, or a store through its dashboard. */
export interface DeliverySource {
  /** A name for the output, such as `the emulator at http://127.0.0.1:4010`. */
  readonly name: string
  /** The secret of the forwarded signatures. */
  readonly secret: string
  /** What the reader should know before the first event: who else gets them, and what is left out. */
  notes(forwardTo: URL | undefined): readonly string[]
  /** Sets up an endpoint when there is none, so that events are sent. */
  open(): Promise<void>
  /** Never ends on its own: it reconnects and continues after the last event. Calls `onTrouble` when it reconnects. */
  deliveries(signal: AbortSignal, onTrouble: (text: string) => void): AsyncIterable<Delivery>
  /** Reverts what `open` changed. */
  close(): Promise<void>
}
