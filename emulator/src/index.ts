export { PortTaken, startEmulator } from './start.ts'
export type {
  EmulatedOrder,
  Emulator,
  EmulatorOptions,
  Fault,
  FaultName,
  FaultRequest,
  Key,
  RecordedDelivery,
  RecordedRequest,
} from './types.ts'
