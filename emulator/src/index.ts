export type { FaultName } from './fault-kinds.ts'
export type { Fault, FaultRequest } from './faults.ts'
export type { EmulatedOrder, RecordedDelivery, RecordedRequest } from './journal.ts'
export { type Emulator, type EmulatorOptions, PortTaken, startEmulator } from './start.ts'
