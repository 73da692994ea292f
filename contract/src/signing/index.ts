export * from '../headers.ts'
export * from './request.ts'
export * from './webhook.ts'
