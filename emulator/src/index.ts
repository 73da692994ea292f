export { PortTaken, startEmulator } from './start.ts'
export type {
  AboutEmulator,
  CatalogueImported,
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
  TimeAdvanced,
} from './types.ts'
