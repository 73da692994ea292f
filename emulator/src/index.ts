export { PortTaken, startEmulator } from './start.ts'
export type {
  AboutEmulator,
  EmulatedOrder,
  Emulator,
  EmulatorOptions,
  Fault,
  FaultName,
  FaultRequest,
  Key,
  LedgerTransfer,
  RecordedDelivery,
  RecordedRequest,
} from './types.ts'
