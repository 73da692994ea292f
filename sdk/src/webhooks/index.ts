export { memoryOnce, type Once } from './once.ts'
export { isNewer, latest } from './order-state.ts'
export { type EventHandler, type ReceiveOptions, receive } from './receive.ts'
export { requireSecrets, type Secrets } from './secrets.ts'
export { type SignedEvent, type SignOptions, sign } from './sign.ts'
export { unwrap } from './unwrap.ts'
export {
  type HeadersLike,
  type RawBody,
  type VerifyOptions,
  verify,
  type WebhookRefusal,
  WebhookVerificationError,
} from './verify.ts'
